"""`pytest tests/rules --hypothesis-profile=long` tries the laws on many more examples."""

from hypothesis import settings

settings.register_profile("long", max_examples=3_000)

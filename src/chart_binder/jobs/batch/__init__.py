"""The batch job: a whole library, album by album, with each service at its own pace."""

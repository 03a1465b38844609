"""The former name of `chart_binder.react.parsing.lenient_json`, kept for one version."""

import warnings

from chart_binder.react.parsing.lenient_json import LenientJSONError, read_json

__all__ = ["LenientJSONError", "read_json"]

warnings.warn(
    "chart_binder.react.json.lenient is now chart_binder.react.parsing.lenient_json",
    DeprecationWarning,
    stacklevel=2,
)

"""The former place of `Classic`, for one version."""

from chart_binder.react.dialect import Classic, Labelled

__all__ = ["Classic", "Labelled"]

"""Lazy exports: a package imports a module when a name of it is first used.

Therefore `canon --help`, or a program that uses one name, does not import all other modules.
"""

TYPE_CHECKING = False  # `typing` would take longer to import than everything else here

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


def lazy_exports(
    package: str, names_by_module: "Mapping[str, Iterable[str]]"
) -> "tuple[Callable[[str], object], Callable[[], list[str]]]":
    """Return the `__getattr__` and the `__dir__` of a package.

    `names_by_module` maps each module of the package to the names that it exports. Any other name
    raises `AttributeError`, as for any module.
    """
    modules = {name: module for module, names in names_by_module.items() for name in names}

    def import_name(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        import importlib

        return getattr(importlib.import_module(f"{package}.{modules[name]}"), name)

    def list_names() -> list[str]:
        import sys

        return sorted({*vars(sys.modules[package]), *modules})

    return import_name, list_names

"""Text from outside, as a terminal only shows it."""


def harmless(text: str) -> str:
    """Return text in which escape sequences and changes of direction do nothing.

    The latter (U+202A to U+202E, U+2066 to U+2069) let what stands on a line be read in another
    order than it has: https://www.unicode.org/reports/tr9/#Directional_Formatting_Characters.
    """
    return text.translate(_ACTIVE)


_ACTIVE = dict.fromkeys(
    (*range(9), *range(11, 32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A)),
    "\ufffd",
)

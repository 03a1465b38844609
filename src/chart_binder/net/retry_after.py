"""How long a server asks to be left alone."""

import email.utils
import time


def retry_after_s(header: str) -> float:
    """Read seconds or an HTTP date (RFC 9110, 10.2.3); what cannot be read asks for nothing."""
    if header.strip().isdecimal():
        return float(header)
    try:
        moment = email.utils.parsedate_to_datetime(header).timestamp()
    except (ValueError, OverflowError):
        return 0.0
    return max(0.0, moment - time.time())

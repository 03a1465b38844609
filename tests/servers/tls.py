"""A certificate of its own authority, for stand-ins that speak https."""

import shutil
import ssl
import subprocess
from pathlib import Path

import pytest


def make_certificate(folder: Path, name: str) -> Path:
    """Return a PEM file with a key and its certificate for `name`, such as `IP:127.0.0.1`."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    key, made = folder / "key.pem", folder / "certificate.pem"
    command = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
        f" -keyout {key.name} -out {made.name} -subj /CN=localhost -addext subjectAltName={name}"
    )
    subprocess.run(command.split(), cwd=folder, check=True, capture_output=True)
    made.write_bytes(key.read_bytes() + made.read_bytes())
    return made


def served_with(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context

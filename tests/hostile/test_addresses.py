"""However an address is spelled, nothing private is asked: not at first, not by redirect.

The hosts and addresses are every spelling that a model or a redirect may come up with.
"""

from collections.abc import Iterator

import pytest

from hostile.harness import MAX_DELAY_S, MAX_GROWTH_MB, Fetching, Measuring, Outcome
from servers.http import Request, Response, StandIn

PUBLIC = "public.example"
DEADLINE_S = 5.0
NAMES = {
    PUBLIC: [["127.0.0.1"]],  # allowed by name: it stands for a host of the open web
    "inside.example": [["127.0.0.1"]],
    "127.0.0.1.nip.example": [["127.0.0.1"]],
}

# {host}:PORT is a server that must not be asked.
PRIVATE_HOSTS = (
    # decimal, octal, hexadecimal, short, and mixtures
    "2130706433", "017700000001", "0x7f000001", "0X7F000001", "0x7f.0x0.0x0.0x1", "0177.0.0.1",
    "0177.0000.0000.0001", "0000177.0.0.1", "0x7f.1", "0177.1", "127.1", "127.0.1", "127.0x0.0.01",
    "127.65536.1", "127.000.000.001", "127.0.0.1.", "127.0.0.1..", "4294967296.1",
    "18446744071562067969", "-2130706433", "0", "0.0.0.0", "00.0.0.0", "127.127.127.127",
    # other digits and other dots
    "\uff11\uff12\uff17.\uff10.\uff10.\uff11", "127\u30020\u30020\u30021",
    "127\uff0e0\uff0e0\uff0e1", "127\uff610\uff610\uff611",
    "\u2460\u2461\u2466.\u24ea.\u24ea.\u2460", "\u0661\u0662\u0667.\u0660.\u0660.\u0661",
    "\u00b9\u00b2\u2077.0.0.1", "%31%32%37.0.0.1", "127%2e0%2e0%2e1", "12\u200b7.0.0.1",
    "127.0.0.1%00.example.org", "127.0.0.1\t.example.org",
    # IPv6, and IPv4 inside it
    "[::1]", "[0:0:0:0:0:0:0:1]", "[0000:0000:0000:0000:0000:0000:0000:0001]", "[::]",
    "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:127.0.0.1]", "[::FFFF:127.0.0.1]",
    "[::127.0.0.1]", "[::7f00:1]", "[::ffff:0:127.0.0.1]", "[64:ff9b::127.0.0.1]",
    "[64:ff9b::7f00:1]", "[64:ff9b:1::127.0.0.1]", "[2002:7f00:1::]", "[2002:7f00:0001:0:0:0:0:0]",
    "[2001:0:4136:e378:8000:63bf:80ff:fffe]", "[2001:0:7f00:1::]", "[fe80::5efe:127.0.0.1]",
    "[2001:db8::5efe:127.0.0.1]", "[fe80::1]", "[fe80::1%25eth0]", "[fe80::1%eth0]", "[::1%25lo]",
    "[fec0::1]", "[fd00::1]", "[ff02::1]", "[::ffff:127.0.0.1", "::1", "[v1.::1]", "[127.0.0.1]",
    # names
    "localhost", "LOCALHOST", "localhost.", "a.localhost", "localhost.localdomain",
    "loc\u00adalhost", "\uff4c\uff4f\uff43\uff41\uff4c\uff48\uff4f\uff53\uff54",
    "\u24db\u24de\u24d2\u24d0\u24db\u24d7\u24de\u24e2\u24e3", "loc%61lhost", "ip6-localhost",
    "router", "router.lan", "wiki.local", "db.internal", "metadata.google.internal",
    "nas.home.arpa", "1.0.0.127.in-addr.arpa", "kubernetes.default.svc.cluster.local",
    "printer.corp", "hidden.onion",
    # networks of others
    "10.0.0.1", "100.100.100.200", "168.63.129.16", "169.254.169.254", "0xa9fea9fe", "2852039166",
    "[::ffff:169.254.169.254]", "[fd00:ec2::254]", "172.16.0.1", "192.168.1.1", "192.0.0.192",
    "198.18.0.1", "224.0.0.1", "255.255.255.255",
    # names that public services resolve inside
    "127.0.0.1.nip.example", "inside.example",
)  # fmt: skip

# {public} is a host that may be asked, {port} the port of a server that must not be asked.
WHOLE_ADDRESSES = (
    "http://user@{public}/", "http://user:password@{public}/", "http://{public}@127.0.0.1:{port}/",
    "http://{public}\\@127.0.0.1:{port}/", "http://{public}%40127.0.0.1:{port}/",
    "http://127.0.0.1:{port}#@{public}/", "http://127.0.0.1:{port}?@{public}/",
    "http://127.0.0.1:{port}\\.{public}/", "http:127.0.0.1:{port}/", "http:///127.0.0.1:{port}/",
    "http:////127.0.0.1:{port}/", "http:\\\\127.0.0.1:{port}\\", "///127.0.0.1:{port}/",
    "\\\\127.0.0.1:{port}\\share", "//127.0.0.1:{port}/", "ht\ntp://127.0.0.1:{port}/",
    "http://127.0.0.1\n:{port}/", "http://127.0.0.1:{port}\r\nHost: {public}/",
    "http://public.example:22/", "http://public.example:0/", "http://public.example:65536/",
    "http://public.example:-1/", "https://public.example:6379/", "ftp://public.example/",
    "file:///etc/passwd", "file://127.0.0.1/etc/passwd", "gopher://127.0.0.1:{port}/_GET%20/",
    "dict://127.0.0.1:{port}/", "ldap://127.0.0.1:{port}/", "ws://127.0.0.1:{port}/",
    "javascript:fetch('http://127.0.0.1:{port}/')", "data:text/html,<p>hello",
    "blob:http://127.0.0.1:{port}/x", "view-source:http://127.0.0.1:{port}/",
    "jar:http://127.0.0.1:{port}/!/", "unix:///var/run/docker.sock",
    "http+unix://%2Fvar%2Frun%2Fdocker.sock/", "about:blank",
)  # fmt: skip

# What a hostile name service may answer for an innocent name.
PRIVATE_ANSWERS = {
    "private": [["10.0.0.1"]],
    "loopback": [["127.0.0.1"]],
    "public and private": [["8.8.8.8", "10.0.0.1"]],
    "private and public": [["127.0.0.1", "8.8.8.8"]],
    "many public, the last one private": [["8.8.8.8"] * 30 + ["169.254.169.254"]],
    "metadata": [["169.254.169.254"]],
    "IPv4 mapped into IPv6": [["::ffff:127.0.0.1"]],
    "IPv4 compatible": [["::127.0.0.1"]],
    "NAT64 of loopback": [["64:ff9b::7f00:1"]],
    "6to4": [["2002:7f00:1::"]],
    "Teredo": [["2001:0:4136:e378:8000:63bf:80ff:fffe"]],
    "ISATAP": [["fe80::5efe:7f00:1"]],
    "unique local": [["fd00::1"]],
    "unspecified": [["0.0.0.0"]],
    "unspecified 6": [["::"]],
    "multicast": [["239.255.255.250"]],
    "broadcast": [["255.255.255.255"]],
    "scoped": [["fe80::1%1"]],
    "shared by carriers": [["100.64.0.1"]],
}

SPELLINGS = (*(f"http://{host}:{{port}}/secret" for host in PRIVATE_HOSTS), *WHOLE_ADDRESSES)


class PrivateServer(StandIn):
    """A host of the open web that redirects to `to`, and a server that must not be asked."""

    def __init__(self) -> None:
        super().__init__(self._answer)
        self.to = ""

    def _answer(self, request: Request) -> Response:
        if request.path == "/go":
            where = self.to.encode("utf-8").decode("latin-1")
            return Response("", 302, headers=(("Location", where),))
        return Response("<p>the secret</p>")


@pytest.fixture(scope="module")
def listening() -> Iterator[PrivateServer]:
    with PrivateServer() as server:
        yield server


@pytest.fixture
def server(listening: PrivateServer) -> PrivateServer:
    listening.requests.clear()
    return listening


def allowed(server: StandIn, url: str, **changes: object) -> Fetching:
    ports = (server.port, 80, 443)
    wanted = {"names": NAMES, "private": (PUBLIC,)} | changes
    return Fetching(url, ports, DEADLINE_S, **wanted)  # type: ignore[arg-type]


def must_not_be_read(outcome: Outcome) -> None:
    assert outcome.result != "read", outcome.text
    assert "secret" not in outcome.text or "secret" in outcome.text.partition("cannot be")[0]
    assert outcome.text.isprintable()
    assert len(outcome.text) < 300
    assert outcome.grown_mb < MAX_GROWTH_MB
    assert outcome.own_seconds < DEADLINE_S + MAX_DELAY_S


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_forbidden_address_is_never_asked(
    spelling: str, server: PrivateServer, fetch: Measuring
) -> None:
    url = spelling.format(port=server.port, public=f"{PUBLIC}:{server.port}")
    must_not_be_read(fetch(allowed(server, url)))
    assert server.requests == []


@pytest.mark.parametrize("spelling", [each for each in SPELLINGS if each.isprintable()])
def test_a_redirect_to_a_forbidden_address_is_not_followed(
    spelling: str, server: PrivateServer, fetch: Measuring
) -> None:
    public = f"{PUBLIC}:{server.port}"
    server.to = spelling.format(port=server.port, public=public)
    outcome = fetch(allowed(server, f"http://{public}/go"))
    if outcome.result == "read":  # to a page of the same host, as a browser would read it
        assert [request.headers["host"] for request in server.requests] == [public] * 2
    else:
        must_not_be_read(outcome)
        assert [request.path for request in server.requests][:1] == ["/go"]
        assert all(request.path == "/go" for request in server.requests)


@pytest.mark.parametrize("answers", PRIVATE_ANSWERS.values(), ids=PRIVATE_ANSWERS)
def test_a_name_with_a_private_address_is_not_asked(
    answers: list[list[str]], server: PrivateServer, fetch: Measuring
) -> None:
    url = f"http://innocent.example:{server.port}/"
    outcome = fetch(allowed(server, url, names={"innocent.example": answers}))
    must_not_be_read(outcome)
    assert outcome.result == "refused"
    assert server.requests == []


def test_a_name_with_a_private_address_the_second_time_is_not_asked_again(
    server: PrivateServer, fetch: Measuring
) -> None:
    names = {"rebinding.example": [["127.0.0.1"], ["127.0.0.2"]]}
    server.to = "/secret"
    url = f"http://rebinding.example:{server.port}/go"
    outcome = fetch(allowed(server, url, names=names, private=("127.0.0.1",)))
    must_not_be_read(outcome)
    assert outcome.result == "refused"
    assert len(server.requests) == 1


def test_a_name_that_changes_after_it_was_checked_is_asked_where_it_was_checked(
    server: PrivateServer, fetch: Measuring
) -> None:
    names = {"rebinding.example": [["127.0.0.1"], ["10.0.0.1"]]}
    url = f"http://rebinding.example:{server.port}/secret"
    outcome = fetch(allowed(server, url, names=names, private=("127.0.0.1",)))
    assert outcome.result == "read"
    (request,) = server.requests
    assert request.headers["host"] == f"rebinding.example:{server.port}"

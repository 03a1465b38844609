"""Evidence and transcripts are kept once, compressed, under a name of their own."""

from collections.abc import Collection, Iterable, Mapping

from sqlalchemy import Connection, Table, select

from chart_binder.domain.kept import KeptEvidence, KeptTranscript
from chart_binder.store.inserting import insert_into
from chart_binder.store.rows import packed, unpacked
from chart_binder.store.schema import evidence, transcripts
from chart_binder.store.transactions import Transactions


class KeptEvidences:
    """Evidence bundles by their evidence hash; every method may raise `StoreError`."""

    def __init__(self, database: Transactions) -> None:
        self._database = database

    def put(self, kept: KeptEvidence) -> None:
        """Keep a bundle; the same facts are kept once."""
        with self._database.writing() as connection:
            put_evidence(connection, [kept])

    def get(self, name: str) -> KeptEvidence | None:
        """Return the bundle of that evidence hash."""
        found = _document(self._database, evidence, name, KeptEvidence)
        return None if found is None else KeptEvidence(name, found)

    def of(self, names: Collection[str]) -> Mapping[str, KeptEvidence]:
        """Return the bundles of several evidence hashes, those that there are."""
        wanted = select(evidence.c.hash, evidence.c.document).where(evidence.c.hash.in_(names))
        with self._database.reading() as connection:
            rows = connection.execute(wanted).all() if names else ()
        return {
            row.hash: KeptEvidence(
                row.hash, unpacked(self._database.name, KeptEvidence, row.document)
            )
            for row in rows
        }


class KeptTranscripts:
    """Recorded runs of the adjudicator by name; every method may raise `StoreError`."""

    def __init__(self, database: Transactions) -> None:
        self._database = database

    def put(self, kept: KeptTranscript) -> None:
        """Keep a transcript; one of that name that is kept already stays."""
        with self._database.writing() as connection:
            put_transcripts(connection, [kept])

    def get(self, name: str) -> KeptTranscript | None:
        """Return the transcript of that name."""
        found = _document(self._database, transcripts, name, KeptTranscript)
        return None if found is None else KeptTranscript(name, found)


def put_evidence(connection: Connection, kept: Iterable[KeptEvidence]) -> None:
    """Keep bundles in a transaction that has begun."""
    _put(connection, evidence, {each.hash: each.document for each in kept})


def put_transcripts(connection: Connection, kept: Iterable[KeptTranscript]) -> None:
    """Keep transcripts in a transaction that has begun."""
    _put(connection, transcripts, {each.id: each.document for each in kept})


def _put(connection: Connection, table: Table, documents: Mapping[str, bytes]) -> None:
    if not documents:
        return
    key = table.primary_key.columns[0]
    # Most evidence is there already: compressing it again costs more than to look.
    known = set(connection.execute(select(key).where(key.in_(documents))).scalars())
    rows = [
        {key.name: name, "document": packed(document)}
        for name, document in documents.items()
        if name not in known
    ]
    if rows:
        new = insert_into(connection, table).on_conflict_do_nothing(index_elements=[key.name])
        connection.execute(new, rows)


def _document(database: Transactions, table: Table, name: str, kind: type) -> bytes | None:
    wanted = select(table.c.document).where(table.primary_key.columns[0] == name)
    with database.reading() as connection:
        row = connection.execute(wanted).one_or_none()
    return None if row is None else unpacked(database.name, kind, row.document)

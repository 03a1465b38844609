"""Evidence and transcripts are kept once, compressed, under a name of their own."""

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
            put_evidence(connection, kept)

    def get(self, name: str) -> KeptEvidence | None:
        """Return the bundle of that evidence hash."""
        found = _document(self._database, evidence, name, KeptEvidence)
        return None if found is None else KeptEvidence(name, found)


class KeptTranscripts:
    """Recorded runs of the adjudicator by name; every method may raise `StoreError`."""

    def __init__(self, database: Transactions) -> None:
        self._database = database

    def put(self, kept: KeptTranscript) -> None:
        """Keep a transcript; one of that name that is kept already stays."""
        with self._database.writing() as connection:
            put_transcript(connection, kept)

    def get(self, name: str) -> KeptTranscript | None:
        """Return the transcript of that name."""
        found = _document(self._database, transcripts, name, KeptTranscript)
        return None if found is None else KeptTranscript(name, found)


def put_evidence(connection: Connection, kept: KeptEvidence) -> None:
    """Keep a bundle in a transaction that has begun."""
    _put(connection, evidence, kept.hash, kept.document)


def put_transcript(connection: Connection, kept: KeptTranscript) -> None:
    """Keep a transcript in a transaction that has begun."""
    _put(connection, transcripts, kept.id, kept.document)


def _put(connection: Connection, table: Table, name: str, document: bytes) -> None:
    key = table.primary_key.columns[0]
    # Most evidence is there already: compressing it again costs more than to look.
    if connection.execute(select(key).where(key == name)).one_or_none() is None:
        new = insert_into(connection, table).on_conflict_do_nothing(index_elements=[key.name])
        connection.execute(new, {key.name: name, "document": packed(document)})


def _document(database: Transactions, table: Table, name: str, kind: type) -> bytes | None:
    wanted = select(table.c.document).where(table.primary_key.columns[0] == name)
    with database.reading() as connection:
        row = connection.execute(wanted).one_or_none()
    return None if row is None else unpacked(database.name, kind, row.document)

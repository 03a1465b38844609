"""The plug-in in a library of beets with real files: the command, the import, and failures."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

pytest.importorskip("beets", reason="needs the extra `beets`")

from beets.exceptions import UserError
from beets.library import Item
from beets.test.helper import ImportHelper, IOMixin, PluginMixin, TestHelper
from mediafile import MediaFile

from chart_binder.domain.records import DecisionRecord, UnreadDecision
from chart_binder.jobs.listing import ListedDecision, listing, read_query
from chart_binder.store import open_store
from integration.compilation import BUNDLES, SONGS, compilation_files
from integration.services import flac
from servers.musicbrainz import MusicBrainzStandIn

QUERY = "title::^Song (1|2|9)$"
SHOWN = """\
Artist of Opera - Hits of the Seventies - Song 1
  canon_crg: {crg}
  canon_first_date: 1975-11-21
  canon_rr: {rr}
  canon_rule: EARLIEST_OFFICIAL
  canon_state: decided
  canon_year_certain: True
  belongs to Opera (Album): """


def unread(decision: UnreadDecision) -> None:
    pytest.fail(decision.problem)


class Canon(PluginMixin, IOMixin, TestHelper):
    """A library with the compilation as one album."""

    plugin: ClassVar[str] = "canon"
    store: str

    @pytest.fixture(autouse=True)
    def compilation(
        self, setup: None, canon_store: str, mb: MusicBrainzStandIn, tmp_path: Path
    ) -> Iterator[None]:
        self.store, self.mb = canon_store, mb
        self.files = compilation_files(tmp_path / "music", "flac")
        self.items = [Item.from_path(str(file)) for file in self.files]
        self.lib.add_album(self.items)
        yield
        self.config["canon"].set({})

    def decided(self) -> dict[Path, ListedDecision]:
        """Return the decisions in canon's store, by file."""
        with open_store(self.store) as store:
            rows = listing(store, read_query([]), unread)
            return {Path(os.fsdecode(row.record.path)): row for row in rows}

    def value(self, name: str, field: str) -> Any:
        [item] = self.lib.items([f"title:={name}"])
        return item.get(field)


class TestCommand(Canon):
    def test_it_shows_what_would_change_and_writes_nothing(self) -> None:
        files = [file.read_bytes() for file in self.files]
        stored = [dict(item) for item in self.lib.items()]
        shown = self.run_with_output("canon", QUERY)
        row = self.decided()[self.files[0]]
        record = row.record
        assert SHOWN.format(crg=record.crg_mbid, rr=record.rr_mbid) in shown
        assert "3 items: 2 decided, 1 undecided\n" in shown
        assert f"next: beet canon --write '{QUERY}'\n" in shown
        assert [dict(item) for item in self.lib.items()] == stored
        assert [file.read_bytes() for file in self.files] == files
        assert set(self.decided()) == {self.files[0], self.files[1], self.files[8]}

    def test_what_it_writes_is_found_by_queries(self) -> None:
        files = [file.read_bytes() for file in self.files]
        self.run_with_output("canon", "--write")
        assert [file.read_bytes() for file in self.files] == files
        for query, titles in {
            "canon_state:decided": {1, 2, 3, 4, 5, 6, 7, 8},
            "canon_state:undecided": {9, 10},
            "canon_first_date:1976..": {3, 4, 5, 6, 9, 10},
            "canon_first_date:1975-11..1976-03": {1, 2, 6},
            "canon_first_date:1977": {3, 4, 5},
            "canon_year_certain:false": {9, 10},
            "canon_year:1974..1975": {1, 2, 7, 8},
            "canon_decade:2000s": {9, 10},
            "canon_rule:earliest": {1, 2, 3, 4, 5, 6, 7, 8},
        }.items():
            found = {int(item.title.removeprefix("Song ")) for item in self.lib.items([query])}
            assert found == titles, query
        album = self.decided()[self.files[0]].decision.crg_mbid
        assert [item.title for item in self.lib.items([f"canon_crg:{album}"])] == [
            "Song 1", "Song 2",
        ]  # fmt: skip
        assert self.value("Song 9", "canon_crg") is None

    def test_an_album_shares_requests_and_a_second_run_sends_none(self) -> None:
        self.run_with_output("canon")
        requests = len(self.mb.requests)
        assert requests < 3 * len(SONGS)
        self.run_with_output("canon", "--write")
        assert self.run_with_output("canon").startswith("10 items: 8 decided, 2 undecided\n")
        assert len(self.mb.requests) == requests

    def test_the_ids_are_those_of_beets_and_not_those_of_the_file(self) -> None:
        self.run_with_output("canon", "--write", "title:=Song 3")
        [item] = self.lib.items(["title:=Song 3"])
        item.mb_trackid = SONGS[6].recording
        item.store()
        shown = self.run_with_output("canon", "--write", "title:=Song 3")
        assert "canon_first_date: 1977-02-04 -> 1974-02-20" in shown

    def test_ids_of_other_services_do_not_count(self) -> None:
        [item] = self.lib.items(["title:=Song 3"])
        item.update({"mb_trackid": "1234567", "mb_albumid": "records.example/1", "length": 180})
        item.store()
        self.run_with_output("canon", "--write", "title:=Song 3")
        assert self.value("Song 3", "canon_first_date") == "1977-02-04"

    def test_the_original_date_is_set_on_request_only(self) -> None:
        self.run_with_output("canon", "--write", QUERY)
        assert (self.value("Song 1", "original_year"), self.value("Song 1", "original_day")) == (
            2004, 0,
        )  # fmt: skip
        self.config["canon"]["original_date"] = True
        assert "original_year: 2004 -> 1975" in self.run_with_output("canon", QUERY)
        assert self.value("Song 1", "original_year") == 2004
        self.config["import"]["write"] = False
        self.run_with_output("canon", "--write", "title:=Song 1")
        assert self.value("Song 1", "original_month") == 11
        assert MediaFile(self.files[0]).original_year == 2004
        self.config["import"]["write"] = True
        self.run_with_output("canon", "--write", QUERY)
        assert str(MediaFile(self.files[1]).original_date) == "1975-11-21"
        assert MediaFile(self.files[8]).original_year == 2004  # its year is not certain
        self.run_with_output("write")
        assert str(MediaFile(self.files[0]).original_date) == "1975-11-21"
        assert self.run_with_output("canon", QUERY).startswith("3 items: ")

    def test_an_earlier_original_date_stays_unless_it_is_that_of_the_album(self) -> None:
        self.config["canon"]["original_date"] = True
        for title, album in {"Song 1": "", "Song 2": self.items[1].mb_albumid}.items():
            [item] = self.lib.items([f"title:={title}"])
            item.update({"original_year": 1970, "mb_albumid": album})
            item.store()
        self.run_with_output("canon", "--write", QUERY)
        assert self.value("Song 1", "original_year") == 1970
        assert self.value("Song 2", "original_year") == 1975

    def test_review_lists_what_waits_and_takes_what_a_person_says(self) -> None:
        assert self.run_with_output("canon", "review") == "nothing needs you\n"
        self.run_with_output("canon", "--write")
        shown = self.run_with_output("canon", "review")
        name = f"canon review show '{self.files[8]}'"
        assert f"Song 9\n  undecided: the original release was not found\n  {name}\n" in shown
        assert shown.endswith(
            "2 cases need you\nnext: canon review --interactive, then beet canon --write\n"
        )
        assert "Song 9" not in self.run_with_output("canon", "review", "title:=Song 10")
        from chart_binder.config import RulesConfig
        from chart_binder.jobs.named_records import PersonChoice
        from chart_binder.jobs.overrides import VerdictSaver
        from chart_binder.jobs.review import find_case

        with open_store(self.store) as store:
            case = find_case(store, str(self.files[8]))
            group = case.rows[0].release_group
            choice = PersonChoice(crg_mbid=group, first_date="1973")
            VerdictSaver(store, RulesConfig()).choose(case, choice)
        assert "Song 9" not in self.run_with_output("canon", "review")
        shown = self.run_with_output("canon", "--write", "title:=Song 9")
        assert "canon_state: undecided -> decided" in shown
        assert self.value("Song 9", "canon_crg") == group
        assert self.value("Song 9", "canon_first_date") == "1973"

    def test_nothing_to_decide_is_said(self) -> None:
        assert self.run_with_output("canon", "nothing") == "no item matches the query\n"
        assert not Path(self.store.removeprefix("sqlite:///")).exists()

    def test_offline_it_decides_by_stored_answers_alone(self) -> None:
        self.run_with_output("canon", QUERY)
        requests = len(self.mb.requests)
        shown = self.run_with_output("canon", "--offline", "--write")
        assert "10 items: 2 decided, 1 undecided, 7 error" in shown
        assert len(self.mb.requests) == requests
        assert self.value("Song 3", "canon_state") is None
        assert self.value("Song 1", "canon_state") == "decided"


class TestTrouble(Canon):
    def test_one_item_in_trouble_does_not_stop_the_others(self, tmp_path: Path) -> None:
        self.files[0].unlink()
        nameless = Item.from_path(str(flac(tmp_path, "x.flac")))
        nameless.add(self.lib)  # a singleton
        named = flac(tmp_path, "ü\udcff 'b'.flac", title="Song 3", artist="Artist of Rumours")
        of_any_bytes = Item.from_path(os.fsencode(named))
        of_any_bytes.length = 180
        of_any_bytes.add(self.lib)
        shown = self.run_with_output("canon", "--write")
        assert "Song 1 error: " in " ".join(shown.split())
        gone = "the file is gone; if beets should forget it, type `beet update`"
        assert gone in " ".join(shown.split())
        assert "12 items: 8 decided, 2 undecided, 1 unmatched, 1 error\n" in shown
        assert "says too little to be looked up" in " ".join(shown.split())
        [item] = self.lib.items(["singleton:true", "title:=Song 3"])
        assert item.canon_first_date == "1977-02-04"
        review = self.run_with_output("canon", "review")
        assert "unmatched: " in " ".join(review.split())
        assert "then `beet canon` tries again" in " ".join(review.split())
        assert "Song 1\n" not in self.run_with_output("ls", "canon_state:unmatched")

    def test_a_failed_lookup_leaves_the_fields_of_before(self) -> None:
        self.run_with_output("canon", "--write", "title:=Song 1")
        self.mb.__exit__(None, None, None)
        [item] = self.lib.items(["title:=Song 1"])
        item.mb_trackid = SONGS[9].recording
        item.store()
        shown = self.run_with_output("canon", "--write", "title:=Song 1")
        assert "error: " in shown
        assert self.value("Song 1", "canon_first_date") == "1975-11-21"
        self.mb.__enter__()

    @pytest.mark.parametrize(
        ("section", "problem"),
        [
            ({"autoo": True}, "has no key canon.autoo: auto, original_date, config are allowed"),
            ({"config": "absent.toml"}, "absent.toml: cannot be read"),
        ],
    )
    def test_a_wrong_configuration_is_named(self, section: dict[str, object], problem: str) -> None:
        self.config["canon"].set(section)
        with pytest.raises(UserError, match=problem):
            self.run_command("canon")

    def test_canons_own_file_is_read_if_it_is_named(self, tmp_path: Path) -> None:
        own = tmp_path / "own canon.toml"
        own.write_text(f'[store]\nurl = "sqlite:///{tmp_path}/other.db"\n', "utf-8")
        self.config["canon"]["config"] = str(own)
        self.run_with_output("canon", "title:=Song 9")
        assert (tmp_path / "other.db").exists()
        shown = self.run_with_output("canon", "review")
        assert f"next: canon --config '{own}' review --interactive" in shown


class TestImport(PluginMixin, IOMixin, ImportHelper):
    """Imports of the compilation as it is tagged."""

    plugin: ClassVar[str] = "canon"
    db_on_disk: ClassVar[bool] = True  # threads share it

    def imported(self, tmp_path: Path, **options: object) -> tuple[list[Path], list[Path]]:
        """Import the compilation, and return its files and those of the library."""
        files = compilation_files(tmp_path / "inbox" / "Hits", "flac")
        form = "$canon_decade/$canon_year $title"
        self.lib.path_formats = [("default", form), ("singleton:true", form)]
        self.setup_importer(tmp_path / "inbox", autotag=False, **options).run()
        return files, sorted(Path(os.fsdecode(item.path)) for item in self.lib.items())

    def paths(self, store_url: str) -> set[Path]:
        with open_store(store_url) as store:
            records = store.decisions.iterate(frozenset(), on_unread=unread)
            return {
                Path(os.fsdecode(record.path))
                for record in records
                if isinstance(record, DecisionRecord)
            }

    def test_an_import_decides_nothing_by_default(
        self, tmp_path: Path, canon_store: str, mb: MusicBrainzStandIn
    ) -> None:
        self.imported(tmp_path)
        assert mb.requests == []
        assert all("canon_state" not in item for item in self.lib.items())

    @pytest.mark.parametrize("moves", [True, False])
    def test_an_import_names_files_by_the_first_year(
        self, tmp_path: Path, canon_store: str, mb: MusicBrainzStandIn, moves: bool
    ) -> None:
        self.config["canon"]["auto"] = True
        self.config["canon"]["original_date"] = True
        before, files = self.imported(tmp_path, move=moves, copy=not moves)
        names = [str(file.relative_to(self.lib_path)) for file in files]
        assert "1970s/1977 Song 3.flac" in names
        assert "2000s/2004 Song 9.flac" in names
        [item] = self.lib.items(["title:=Song 3"])
        assert (item.canon_first_date, item.original_year) == ("1977-02-04", 1977)
        assert self.paths(canon_store) == {*files, *(() if moves else before)}

    @pytest.mark.parametrize("section", [
        {"auto": True, "config": "absent.toml"}, {"auto": True, "config": [1]}, {"auto": "maybe"},
        {"auto": True, "original_date": "maybe"}, {"auto": True, "autoo": True}, "yes", None,
    ])  # fmt: skip
    def test_an_import_goes_on_without_canon(
        self, tmp_path: Path, canon_store: str, mb: MusicBrainzStandIn, section: object
    ) -> None:
        self.config["canon"].set(section)
        assert len(self.imported(tmp_path)[1]) == len(BUNDLES)
        assert mb.requests == []

    def test_an_import_of_threads_and_singletons_is_decided_too(
        self, tmp_path: Path, canon_store: str, mb: MusicBrainzStandIn
    ) -> None:
        self.config["canon"]["auto"] = True
        self.config["threaded"] = True
        _, files = self.imported(tmp_path, move=True, copy=False, singletons=True)
        assert [item.canon_first_date for item in self.lib.items(["title:=Song 3"])] == [
            "1977-02-04"
        ]
        assert self.paths(canon_store) == {*files}

"""`canon report`: what is decided, what is open, and which tracks are older than their tags say."""

import click

from chart_binder.cli import options, output
from chart_binder.cli.listing import QueryCommand, query_argument
from chart_binder.domain.records import local_time, now_utc
from chart_binder.errors import UsageError, counted
from chart_binder.files import path_text
from chart_binder.jobs.library import library_figures
from chart_binder.jobs.listing import listing, read_query

_FILES_OF_A_FIGURE = 50


@click.command("report", cls=QueryCommand)
@query_argument
@options.option("--html FILE", "The page; - is standard output.", type=options.PATH)
@options.pass_session
def report(session: options.Session, query: tuple[str, ...], html: str | None) -> int:
    """Write a page of plots about the decisions that match a QUERY (see `canon ls`), or about all.

    It shows how many tracks are older than their tags say, by decade of the first release and by
    how many years, what decided, and what is open and why. The page is one file and needs no
    server. Each number leads to at most 50 of its files, and to the command that lists all. --json
    prints the numbers, each with the query that lists its files; then --html is not needed.

    Exit status: 0 success, 1 a record of the store is damaged or FILE cannot be written, 2 bad
    usage.
    """
    if html is None and not session.as_json:
        raise UsageError("name the page with --html FILE, or print the numbers with --json")
    if html == "-" and session.as_json:
        raise UsageError("--html - and --json both print on standard output: leave out one of them")
    if html is not None:
        options.refuse_audio_file("--html", html)
    parsed_query, skipped = read_query(query), output.SkippedRecords()
    with session.open_store() as store:
        rows = listing(store, parsed_query, skipped.decision)
        figures, lists = library_figures(rows, parsed_query, _FILES_OF_A_FIGURE if html else 0)
    if html is not None:
        from chart_binder.pages.figures import report_page

        page = report_page(figures, lists, local_time(now_utc())).encode("utf-8", "replace")
        output.write_file(None if html == "-" else html, page)
        count = counted(figures.files.count, "file")
        output.print_notes([f"{path_text(html)}: a page about {count}"] if html != "-" else [])
    if session.as_json:
        output.print_json(figures)
    return skipped.status

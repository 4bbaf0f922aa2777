"""The record of other projects' suites: how a run changes it, its page, and the losses against it."""

from pathlib import Path

from tests.peers.record import FILE, markdown, read, write


def test_the_page_is_made_from_the_record(tmp_path: Path) -> None:
    record, page = read(FILE), FILE.with_suffix(".md").read_text(encoding="utf-8")
    assert markdown(record) in page, f"run: pytest tests/peers --sources DIR --peers-record {FILE.name}"
    assert record and all(suite.outcomes for suite in record.values())
    write(tmp_path / "peers.json", record)
    assert (tmp_path / "peers.json").read_bytes() == FILE.read_bytes()

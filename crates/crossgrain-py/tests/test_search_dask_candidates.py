"""Words with masks, two lists and files of masks on a cluster: every candidate is tried once, under its number."""

import importlib.util
import os
from pathlib import Path

import pytest

import crossgrain
from crossgrain import Search, search_shard

pytest.importorskip("distributed")

_spec = importlib.util.spec_from_file_location("crossgrain_candidates", Path(__file__).with_name("test_search_candidates.py"))
candidates = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(candidates)

folder = candidates.folder


def run(client, search, **options):
    from crossgrain import dask

    return dask.search(client, search, **options)


@pytest.mark.parametrize("count", [1, 3, 16])
@pytest.mark.parametrize("case", candidates.CASES)
def test_candidates_are_those_of_one_process(client, case, count, folder, monkeypatch):
    from crossgrain import _search_dask

    # Shards of this size, which may begin and end within a word.
    monkeypatch.setattr(_search_dask, "_FIRST", count)
    search = Search(**candidates.ANY, **candidates.CASES[case])
    found = search_shard(search, goes_on=True)
    if count > 1 or search.size < 30:
        assert run(client, search, goes_on=True, shard_seconds=1e-9 if count == 1 else 1e-4) == found
    assert run(client, search, goes_on=True, skip=3, limit=5) == [one for one in found if 3 <= one.number < 8]


def test_a_journal_is_gone_on_with(client, folder):
    search = Search(**candidates.ANY, words=[f"word{at}" for at in range(9)], mask_before="?1", words_after=["x", "yy", "z"], sets=["ab"])

    def enough(tried, _):
        if tried >= 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(client, search, goes_on=True, journal="journal", progress=enough, shard_seconds=1e-9)
    for other in ({"words_after": ["x", "yy", "Z"]}, {"mask_before": "?d"}, {"sets": ["ba"]}):
        given = {"words": search.words, "mask_before": "?1", "words_after": search.words_after, "sets": ["ab"]} | other
        with pytest.raises(crossgrain.Error, match="another search"):
            run(client, Search(**candidates.ANY, **given), goes_on=True, journal="journal", restore=True)
    first = []
    found = run(client, search, goes_on=True, journal="journal", restore=True, progress=lambda *at: first.append(at))
    assert first[0][0] > 20 and found == search_shard(search, goes_on=True) and len(found) > 9


def test_workers_need_no_files(client, folder):
    Path("words").write_bytes(b"one\ntwo\n")
    Path("after").write_bytes(b"x\ny\n")
    search = Search(**candidates.ANY, words="words", words_after="after", mask_after="some.hcmask", sets=["xy"])
    expected = search_shard(search, goes_on=True)
    assert len(expected) > 3
    os.remove("some.hcmask")
    client.run(os.chdir, "/")
    assert run(client, search, goes_on=True) == expected
    Path("after").write_bytes(b"x\ny\nz\n")
    with pytest.raises(crossgrain.Error, match="words_after has changed since the search was described"):
        run(client, search, journal="journal")
    assert not Path("journal").exists()


def test_long_second_lists_are_refused(client, folder):
    with open("after", "wb") as file:
        file.writelines(b"%0999d\n" % number for number in range(8400))
    search = Search(**candidates.ANY, words=["a"], words_after="after")
    assert search.size == 8400
    for given in ("after", Path("after").read_bytes()):
        search = Search(**candidates.ANY, words=["a"], words_after=given)
        with pytest.raises(crossgrain.Error, match="words_after has more than 8 MiB, and every task contains it"):
            run(client, search, journal="journal")
    assert not Path("journal").exists()
    Path("big.hcmask").write_bytes(Path("after").read_bytes()[: 9 << 20].replace(b"0", b"#", 1))
    with pytest.raises(crossgrain.Error, match="mask has more than 8 MiB"):
        run(client, Search(**candidates.ANY, mask="big.hcmask"))

"""Key search on a cluster: hits, the journal, and the loss of a worker."""

import os
import re
import signal
import stat
from pathlib import Path

import pytest

import crossgrain
from crossgrain import Found, Search

distributed = pytest.importorskip("distributed")

KEY = bytes(range(32, 48))
PLAIN = b"sixteen letters!"
CRYPT = crossgrain.encrypt(PLAIN, key=KEY, cipher="aes-128", mode="ecb")


def lost(digits=4, at=28, **candidates):
    mask = {} if candidates else {"key_mask": KEY.hex()[:at] + "?" * digits + KEY.hex()[at + digits :]}
    return Search(cipher="aes-128", known=[(PLAIN, CRYPT)], **mask, **candidates)


def number(digits=4, at=28):
    return int(KEY.hex()[at : at + digits], 16)


def run(client, search, **options):
    from crossgrain import dask

    return dask.search(client, search, **options)


def test_a_key_is_found_wherever_it_is(client):
    found = Found(number(), KEY, KEY)
    assert run(client, lost(), goes_on=True) == [found] == run(client, lost())
    assert run(client, lost(), skip=number(), limit=1) == [found]
    assert run(client, lost(), skip=number() + 1) == [] == run(client, lost(), limit=number())
    for part in ({"limit": 0}, {"skip": 16**4}, {"skip": 1 << 200}):
        with pytest.raises(crossgrain.NothingTried):
            run(client, lost(), **part)


def test_words_keep_their_numbers(client):
    words = [bytes([i % 256, i // 256]) * 8 for i in range(3000)]
    words[2500] = KEY
    words[:] = [word for word in words if b"\n" not in word and not word.endswith(b"\r")]
    place = words.index(KEY)
    for rules in ([], [":", "u", "l"]):
        search = lost(words=[b"x" * 17, *words], rules=rules)
        with pytest.warns(UserWarning, match="too long"):
            found = run(client, search, goes_on=True, shard_seconds=1)
        assert found[0] == Found((place + 1) * max(len(rules), 1), KEY, KEY)
        assert {one.key for one in found} == {KEY}
    raw = b"".join(words)
    assert run(client, lost(words=raw, form="raw")) == [Found(place, KEY, KEY)]


def test_a_journal_is_gone_on_with(client, tmp_path):
    journal, search = tmp_path / "lost", lost(5, 27)
    total = search.size

    def enough(tried, _):
        if tried > total // 8:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(client, search, goes_on=True, journal=journal, progress=enough, shard_seconds=1)
    assert stat.S_IMODE(os.stat(journal).st_mode) == 0o600
    with pytest.raises(FileExistsError):
        run(client, search, goes_on=True, journal=journal)
    with pytest.raises(crossgrain.Error, match="another search"):
        run(client, search, goes_on=True, journal=journal, restore=True, skip=1)
    journal.write_bytes(journal.read_bytes() + b'{"from": "0", "to')  # killed during a write
    told = []
    found = run(client, search, goes_on=True, journal=journal, restore=True, progress=lambda *at: told.append(at))
    assert found == [Found(number(5, 27), KEY, KEY)]
    assert told[0][0] > total // 8 and told[-1] == (total, total)
    size = journal.stat().st_size
    assert run(client, search, goes_on=True, journal=journal, restore=True) == found
    assert journal.stat().st_size == size  # nothing was left to search
    journal.write_bytes(journal.read_bytes().replace(b'"from"', b'"form"', 1))
    with pytest.raises(crossgrain.Error, match="damaged in line"):
        run(client, search, journal=journal, restore=True)
    with pytest.raises(FileNotFoundError):
        run(client, search, journal=tmp_path / "none", restore=True)


def test_two_searches_do_not_share_a_journal(client, tmp_path):
    def meanwhile(*_):
        with pytest.raises(crossgrain.Error, match="another search writes"):
            run(client, lost(), journal=tmp_path / "lost", restore=True)

    assert run(client, lost(), journal=tmp_path / "lost", progress=meanwhile)


def test_a_worker_that_is_killed_costs_its_shards_at_most(client, tmp_path):
    killed = []

    def kill(tried, total):
        if not killed and tried > total // 8:
            killed.append(next(iter(client.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)

    journal, search = tmp_path / "lost", lost(5, 27)
    found = run(client, search, goes_on=True, journal=journal, progress=kill, shard_seconds=1)
    assert killed and found == [Found(number(5, 27), KEY, KEY)]


def test_a_shard_that_always_fails_is_told(client, monkeypatch):
    from crossgrain import _search_dask

    def broken(*_):
        raise ValueError("broken")

    monkeypatch.setattr(_search_dask, "_shard", broken)
    with pytest.raises(crossgrain.Error, match="from candidate 0 to 16 failed 2 times") as raised:
        run(client, lost(), retries=1)
    assert "broken" in str(raised.value.__cause__)


def test_a_device_that_fails_on_a_worker_is_told(client, monkeypatch):
    from crossgrain import _search_dask

    shard = _search_dask._shard
    monkeypatch.setattr(_search_dask, "_shard", lambda *job: (*shard(*job)[:-2], ["cuda:0 was lost"], 1))
    with pytest.warns(UserWarning, match="cuda:0 was lost: the CPU went on"):
        assert run(client, lost()) == [Found(number(), KEY, KEY)]


def test_the_documented_example(client, monkeypatch, tmp_path):
    text = (Path(__file__).parents[3] / "docs/search.md").read_text(encoding="utf-8")
    (example,) = [found for found in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "tcp://" in found]
    monkeypatch.setattr(distributed, "Client", lambda _: client)
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "docs/search.md", "exec"), {})
    assert (tmp_path / "lost.journal").exists()


@pytest.mark.skipif(os.name != "posix", reason="links (not on this system)")
@pytest.mark.parametrize("planted", ["link", "second name", "text", "text without an end", "pipe", "open to others"])
def test_a_journal_that_is_none_is_left_as_it_is(tmp_path, planted):
    from crossgrain._journal import Journal

    search = Search(cipher="aes-128", known=[(bytes(16), bytes(16))], range=(0, 99))
    journal, others = tmp_path / "journal", tmp_path / "others"
    with Journal(others, False, search, (0, 100)) as begun:
        begun.done(0, 10, [], 10)
    if planted == "link":
        journal.symlink_to(others)
    elif planted == "second name":
        journal.hardlink_to(others)
    elif planted == "pipe":
        os.mkfifo(journal)
    elif planted == "open to others":
        journal.write_bytes(others.read_bytes())
        journal.chmod(0o622)
    else:
        journal.write_bytes(b"a line\nand another" if planted == "text" else b"no line")
        journal.chmod(0o600)
    before = others.read_bytes(), planted != "pipe" and journal.read_bytes()
    with pytest.raises((crossgrain.Error, OSError)):
        Journal(journal, True, search, (0, 100))
    assert (others.read_bytes(), planted != "pipe" and journal.read_bytes()) == before


def test_a_journal_that_was_hardly_begun_is_gone_on_with(tmp_path):
    from crossgrain._journal import Journal

    search = Search(cipher="aes-128", known=[(bytes(16), bytes(16))], range=(0, 99))
    path = tmp_path / "journal"
    with Journal(path, False, search, (0, 100)):
        whole = path.read_bytes()
    for cut in (b"", whole[:7], whole[:-1], whole, whole + b'{"from"'):
        path.write_bytes(cut)
        with Journal(path, True, search, (0, 100)) as journal:
            assert journal.rest((0, 100)) == [(0, 100)]
        assert path.read_bytes() == whole


def test_journals_of_earlier_versions_are_gone_on_with():
    from crossgrain._journal import _digest

    known = [("00" * 15 + "??", bytes(16))]
    kdf = {"kdf": "pbkdf2-sha256", "salt": b"salt", "iterations": 3}
    tagged = {"mode": "gcm", "iv": bytes(12), "crypt": "00", "tag": bytes(16), "aad": b"x"}
    for options, digest in (
        ({"known": known, "range": (0, 99)}, "c267034e6de405e8b61794c504fca7e95301c7bb125b322c610d31a40175a040"),
        ({"known": known, "words": ["a", "b"], "rules": ["u", b"l"], **kdf}, "dba4a35df6ccf0e3be1ada226426c7b6ab558039399c09a11db1163532a67760"),
        ({"known": known, "mask": "?1?d", "sets": ["ab", b"c"], "mode": "cbc", "iv": bytes(16)}, "a8d931200c3b788faa623d238ba8926397440da9d9ef488ef018a48fe07d75c3"),
        ({"key_mask": "?" * 32, **tagged}, "e71002440d55f5454bbfe89d38b5457bbcdae5b6bb6c7b01d15134ba2b97ed1d"),
    ):
        assert _digest(Search(cipher="aes-128", **options), (0, 7)) == digest
    others = {_digest(Search(cipher="aes-128", known=known, words=["a"], rule_files=[text]), (0, 7)) for text in (b"u", b"l")}
    assert len(others) == 2

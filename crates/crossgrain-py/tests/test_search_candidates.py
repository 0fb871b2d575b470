"""Candidates of a search in Python: words with masks, two lists, masks of several lengths and files of masks."""

import itertools
import os
import pickle
import subprocess
from pathlib import Path

import pytest

import crossgrain
from crossgrain import Found, NothingTried, Search, search_shard

PLAIN = b"sixteen letters!"

#: More than a third of all keys fit.
ANY = {"cipher": "aes-128", "mode": "ctr", "iv": bytes(16), "crypt": b"x", "looks": "printable", "kdf": "sha256"}

#: Candidates, each with their command line. Lists are written to files there.
CASES = {
    "before": {"words": ["one", "two"], "mask_before": "?1-", "sets": ["ab"]},
    "after": {"words": ["one", "", "two"], "mask_after": "?d?1", "sets": ["xyz"]},
    "both sides and rules": {"words": ["one", "$HEX[0a62]"], "rules": ["u", ":", "<3"], "mask_before": "?1", "mask_after": "?1?2", "sets": ["ab", "?1c"]},
    "two lists": {"words": ["one", "two", "three"], "words_after": ["X", "$HEX[0d]", "YY"]},
    "two lists and all else": {"words": ["one", "two"], "words_after": ["x", "y"], "rules": ["c", "$-"], "rule_right": "u", "mask_before": "?1", "mask_after": "?1", "sets": ["01"]},
    "growing": {"mask": "?1a?1", "sets": ["01"], "increment": True},
    "growing in part": {"mask": "?1?1?1?1", "sets": ["01"], "increment": True, "increment_min": 2, "increment_max": 3},
    "growing digits": {"mask": "?10?1f", "sets": ["01"], "increment": True, "hex": True},
    "growing after words": {"words": ["a", "b"], "mask_after": "?1?1", "sets": ["01"], "increment": True},
    "a file of masks": {"mask": Path("some.hcmask"), "sets": ["xy"]},
    "a growing file of masks": {"mask": "some.hcmask", "sets": ["xy"], "increment": True, "increment_max": 2},
    "a file of masks after words": {"words": ["a", "b"], "mask_after": "some.hcmask", "sets": ["xy"]},
}

#: A file of masks with comments, an own set, escapes and the end of lines of Windows.
MASKS = b"# masks\nab,?1?1\r\n?1\\,\n\n\\#?1-\n"


def fitting(digit, **candidates):
    """A search that every 16th key fits: those that decrypt a block to this first digit."""
    return Search(cipher="aes-128", known=[(f"{digit:x}".ljust(32, "?"), bytes(16))], kdf="sha256", **candidates)


def numbered(*, candidates, **part):
    """All candidates of a part, with their numbers."""
    searches = [fitting(digit, **candidates) for digit in range(16)]
    found = []
    for search in searches:
        try:
            found += search_shard(search, goes_on=True, threads=1, **part)
        except NothingTried:
            assert search is searches[0]
            return []
    return [(one.number, one.candidate) for one in sorted(found)]


def every(*, skip=0, limit=None, **candidates):
    """All candidates, which have the numbers from `skip` on."""
    found = numbered(candidates=candidates, skip=skip, limit=limit)
    assert [number for number, _ in found] == list(range(skip, skip + len(found))), "no candidate is left out"
    return [candidate for _, candidate in found]


def options(candidates):
    """The command line's options for candidates, whose lists are written to files."""
    for name, value in candidates.items():
        option = "--" + name.replace("_", "-")
        if name in ("words", "words_after"):
            Path(name).write_text("".join(word + "\n" for word in value))
            yield from (option, name)
        elif name == "sets":
            yield from itertools.chain.from_iterable((f"-{number}", one) for number, one in enumerate(value, 1))
        elif name == "rules":
            yield from itertools.chain.from_iterable(("-j", one) for one in value)
        elif value is True:
            yield option
        else:
            yield from (option, str(value))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder with a file of masks."""
    monkeypatch.chdir(tmp_path)
    Path("some.hcmask").write_bytes(MASKS)
    return tmp_path


def lost(key, **candidates):
    crypt = crossgrain.encrypt(PLAIN, key=key, cipher="aes-128", mode="ecb")
    return Search(cipher="aes-128", known=[(PLAIN, crypt)], **candidates)


@pytest.mark.parametrize("case", CASES)
def test_candidates_are_those_of_the_command_line(case, folder):
    program = os.environ.get("CROSSGRAIN_PROGRAM")
    if program is None:
        pytest.skip("candidates of the command line (CROSSGRAIN_PROGRAM does not name it)")
    command = [program, "search", *options(CASES[case])]
    printed = subprocess.run([*command, "--stdout"], check=True, capture_output=True).stdout
    counted = subprocess.run([*command, "--keyspace"], check=True, capture_output=True, text=True).stdout
    # A rule may reject words, so there may be fewer than numbers.
    assert b"".join(candidate + b"\n" for _, candidate in numbered(candidates=CASES[case])) == printed
    assert Search(**ANY, **CASES[case]).size == int(counted) > 0


def test_candidates_are_those_of_a_loop():
    words, ends = [b"one", b"two", b"x\ny"], [b"red", b"blue\r", b"\xef\xbb\xbf"]
    made = [
        b"%c-%b%b%d" % (before, word, after.capitalize(), number)
        for word, before, after, number in itertools.product(words, b"ab", ends, range(10))
    ]
    assert every(words=words, words_after=ends, mask_before="?1-", mask_after="?d", sets=["ab"], rule_right="c") == made
    masks = ["?d", b"a?d", "?1?1"]
    made = [b"%d" % one for one in range(10)] + [b"a%d" % one for one in range(10)] + [b"xx", b"xy", b"yx", b"yy"]
    assert every(mask=masks, sets=["xy"]) == made
    assert every(words=["w"], mask_after=tuple(masks), sets=["xy"]) == [b"w" + one for one in made]


@pytest.mark.parametrize("case", [case for case in CASES if "rules" not in CASES[case]])
def test_parts_are_cut_at_every_place(case, folder):
    search, whole = Search(**ANY, **CASES[case]), every(**CASES[case])
    assert search.size == len(whole)
    for skip, limit in itertools.product(range(len(whole)), (1, 2, 3, None)):
        assert every(skip=skip, limit=limit, **CASES[case]) == whole[skip : None if limit is None else skip + limit]
    for count in (2, 5):
        shares = [numbered(candidates=CASES[case], skip=1, shard=(at, count)) for at in range(count)]
        assert [one for share in shares for one in share] == list(enumerate(whole))[1:]
    with pytest.raises(NothingTried):
        search_shard(search, skip=len(whole))


@pytest.mark.parametrize("threads", [1, 3])
def test_keys_are_found_with_their_numbers(threads):
    key = b"winter-Red7".ljust(16, b"\0")
    candidates = {"words": ["summer", "winter"], "rules": ["$-"], "words_after": ["blue", "red"], "rule_right": "c", "mask_after": "?d"}
    found = search_shard(lost(key, **candidates), threads=threads, goes_on=True)
    assert found == [Found(37, b"winter-Red7", key)]
    key = b"zz9".ljust(16, b"\0")
    growing = lost(key, mask="?l?l?d?d", increment=True)
    assert growing.size == 26 + 26**2 + 26**2 * 10 + 26**2 * 100
    at = 26 + 26**2 + 26**2 * 10 - 1
    assert search_shard(growing, threads=threads, goes_on=True) == [Found(at, b"zz9", key)]
    assert search_shard(growing, skip=at, limit=1) == [Found(at, b"zz9", key)]
    assert search_shard(growing, skip=at + 1, limit=99) == []
    progress = []
    search_shard(growing, goes_on=True, progress=lambda *at: progress.append(at))
    assert progress[-1] == (growing.size, growing.size)


def test_a_file_of_masks_is_not_a_mask(folder):
    made = [b"aa", b"ab", b"ba", b"bb", b"x,", b"y,", b"#x-", b"#y-"]
    (folder / "other").write_bytes(MASKS)
    for mask in ("some.hcmask", folder / "some.hcmask", Path("other")):
        assert every(mask=mask, sets=["xy"]) == made
        search = Search(**ANY, mask=mask, sets=["xy"])
        kept, found = pickle.loads(pickle.dumps(search)), search_shard(search, goes_on=True)
        assert kept == search
    for file in ("some.hcmask", "other"):
        (folder / file).unlink()
    assert search_shard(kept, goes_on=True) == found != []
    assert every(mask=b"m.hcmask") == every(mask=[b"m.hcmask"]) == [b"m.hcmask"]
    assert every(mask="other") == [b"other"]
    for missing in ("some.hcmask", Path("other"), Path("?d")):
        with pytest.raises(FileNotFoundError):
            every(mask=missing)
    with pytest.raises(crossgrain.Error, match=r"mask has the file 'some.hcmask' in a list: give the file alone"):
        every(mask=["some.hcmask"])


@pytest.mark.skipif(os.name != "posix", reason="pipes (not on this system)")
def test_a_pipe_of_masks_is_refused(folder):
    os.mkfifo("pipe.hcmask")
    for mask in ("pipe.hcmask", folder):
        with pytest.raises(crossgrain.Error, match="mask names .* no regular file"):
            every(mask=mask)


def test_second_lists_are_read_as_first_ones(folder):
    Path("list").write_bytes("\ufeffone\r\ntw\u00f6\n".encode())
    made = [b"w" + word for word in (b"one", "tw\u00f6".encode())]
    for given in ("list", Path("list"), Path("list").read_bytes(), bytearray(Path("list").read_bytes()), ["one", "tw\u00f6"]):
        assert every(words=["w"], words_after=given) == made
    with pytest.raises(crossgrain.Error, match="words_after: the word list cannot be read: it is in UTF-16"):
        every(words=["w"], words_after="a\n".encode("utf-16"))
    with pytest.warns(UserWarning, match=r"words_after: 1 words were left out, being too long \(the first is word 1\)"):
        made = numbered(candidates={"words": ["w"], "words_after": [b"a", b"b" * (1 << 20) + b"c", b"d"]})
    assert made == [(0, b"wa"), (2, b"wd")]


def test_affixes_of_nothing_make_no_candidate():
    for nothing in ({"words_after": []}, {"words_after": b""}, {"mask_after": "?d", "increment": True, "increment_min": 2}):
        search = Search(**ANY, words=["a", "b"], **nothing)
        assert search.size == 0
        with pytest.raises(NothingTried):
            search_shard(search)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"mask": "?q"}, r"mask: no set is called '\?q'"),
        ({"words": ["a"], "mask_before": "?1"}, r"mask_before: no set is called '\?1'"),
        ({"words": ["a"], "mask_after": b""}, "mask_after: a mask or set is empty"),
        ({"words": ["a"], "mask_after": "?b" * 8}, "mask_after: every word has 2.63 candidates or more"),
        ({"words": ["a"], "mask_before": "?b" * 4, "mask_after": "?b" * 4}, "every word has 2.63 candidates or more"),
        ({"mask": []}, "mask is an empty list: give a mask"),
        ({"mask": Path("bad.hcmask")}, "mask, file \"bad.hcmask\": no set is called '.9'"),
        ({"mask": Path("none.hcmask")}, "mask, file \"none.hcmask\": there is no mask: give one on each line"),
        ({"mask": "?d", "mask_after": "?d"}, "mask_after describes words: give words, or leave it out"),
        ({"mask": "?d", "words_after": ["a"], "rules": ["u"]}, "words_after, rules describe words"),
        ({"words": ["a"], "rule_right": "u"}, "rule_right describes the words of a second list: give words_after"),
        ({"words": ["a"], "words_after": ["b"], "rule_right": "\x7f"}, "has a function that is not known"),
        ({"words": ["a"], "increment": True}, "increment describes masks: give mask, mask_before or mask_after"),
        ({"words": ["a"], "sets": ["ab"], "hex": True}, "hex, sets describe masks"),
        ({"mask": "?d", "increment_min": 2}, "increment_min describes masks of several lengths: give increment"),
        ({"mask": "?d", "increment": True, "increment_min": 3, "increment_max": 2}, "increment_max is below increment_min"),
        ({"mask": "?1", "sets": ["a", "b", "c", "d", "e"]}, "there are 4 own sets"),
        ({"mask": "?1", "sets": [b""]}, "sets: a mask or set is empty"),
    ],
)
def test_what_is_refused(options, why, folder):
    Path("bad.hcmask").write_bytes(b"?d\n?9\n")
    Path("none.hcmask").write_bytes(b"# none\n")
    with pytest.raises(crossgrain.Error, match=why):
        Search(**ANY, **options)


def test_wrong_types_are_refused():
    for options, why in (
        ({"mask": "?d", "increment": 1}, "increment is True or False, not a int"),
        ({"mask": "?d", "increment": True, "increment_max": "2"}, "increment_max is an integer, not a str"),
        ({"words": ["a"], "words_after": [5]}, "words_after"),
        ({"words": ["a"], "mask_after": 5}, "mask_after"),
    ):
        with pytest.raises((TypeError, BufferError), match=why):
            Search(**ANY, **options)


def test_keys_of_wrong_lengths_are_refused_before_the_search():
    for options, why in (
        ({"mask": "?d" * 17, "increment": True}, "too long"),
        ({"mask": "?h?h", "hex": True, "increment": True}, "too short"),
        ({"mask": ["?d", "?d" * 17]}, "too long"),
    ):
        with pytest.raises(crossgrain.Error, match=why):
            lost(bytes(16), **options)
    with pytest.raises(crossgrain.Error, match="smaller"):
        search_shard(lost(bytes(16), mask=["?d", "?b" * 9]))


def test_digests_of_searches_differ():
    from crossgrain._journal import _digest

    searches = [
        {"words": ["a"]},
        {"words": ["a"], "mask_after": "?d"},
        {"words": ["a"], "mask_before": "?d"},
        {"words": ["a"], "mask_after": "?d", "increment": True},
        {"words": ["a"], "mask_after": "?d", "increment": True, "increment_max": 1},
        {"words": ["a"], "words_after": ["?d"]},
        {"words": ["a"], "words_after": ["?d"], "rule_right": "u"},
        {"mask": "?d?d"},
        {"mask": ["?d", "?d"]},
        {"mask": ["?d?d", "?d"]},
    ]
    assert len({_digest(Search(**ANY, **one), (0, 1)) for one in searches}) == len(searches)
    assert _digest(Search(**ANY, mask="?d"), (0, 1)) == _digest(Search(**ANY, mask=["?d"]), (0, 1))

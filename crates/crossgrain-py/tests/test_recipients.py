"""Files for recipients: each identity, key and passphrase of a file opens it, no other does, and the command line agrees."""

import os
import subprocess

import pytest

import crossgrain

TEXT = b"some text" * 5000
ALICE, BOB, EVE = (crossgrain.generate_identity() for _ in range(3))
#: The pair in docs/format.md.
IDENTITY = "AGE-SECRET-KEY-1GPQ5YS6YG4RYWJZFFF95CN2WFAG9Z5JN2324V46CT9D9KHZATE0S5FAZ64"
RECIPIENT = "age10xnrrmk7r0uunrcjqvkdatwsu7s8jwv0c7rt3rxggmkgntu955dq25yyzj"


def recipients(*identities):
    return [crossgrain.recipient_of(identity) for identity in identities]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plain").write_bytes(TEXT)
    return tmp_path


def opened(name, **secret):
    with crossgrain.open(name, **secret) as file:
        return file.read()


@pytest.mark.parametrize("suite", ["aes-256-gcm", "aes-128-gcm", "serpent-256-eax"])
@pytest.mark.parametrize("own", [{}, {"passphrase": "words"}, {"key": None}])
def test_everything_that_a_file_was_encrypted_to_opens_it(folder, suite, own):
    if "key" in own:
        own = {"key": bytes(range(16 if suite == "aes-128-gcm" else 32))}
    assert crossgrain.encrypt_file("plain", "sealed", recipients=recipients(ALICE, BOB, ALICE), suite=suite, **own) == len(TEXT)
    with crossgrain.open("written", "xb", recipients=recipients(ALICE, BOB), suite=suite, **own) as file:
        file.write(TEXT)
    # Each recipient has one slot.
    assert os.path.getsize("sealed") == os.path.getsize("written")
    for name in ("sealed", "written"):
        for secret in ({"identity": ALICE}, {"identity": BOB}, {"identity": [EVE, BOB]}, own):
            if secret:
                assert opened(name, **secret) == TEXT
        assert crossgrain.decrypt_file(name, "back", identity=BOB, overwrite=True) == len(TEXT)
        assert (folder / "back").read_bytes() == TEXT
        with pytest.raises(crossgrain.WrongKey, match="wrong"):
            crossgrain.decrypt_file(name, "wrong", identity=EVE)
    assert sorted(os.listdir()) == ["back", "plain", "sealed", "written"]


def test_the_kind_of_secret_that_is_missing_is_named(folder):
    crossgrain.encrypt_file("plain", "shared", recipients=recipients(ALICE))
    crossgrain.encrypt_file("plain", "locked", passphrase="words")
    crossgrain.encrypt_file("plain", "keyed", key=bytes(32))
    for name, secret, kind in (
        ("shared", {"passphrase": "words"}, "give an identity"),
        ("shared", {"key": bytes(32)}, "give an identity"),
        ("locked", {"identity": ALICE}, "by a passphrase"),
        ("keyed", {"identity": ALICE}, "by a key"),
    ):
        with pytest.raises(crossgrain.WrongKey, match=kind) as refused:
            crossgrain.EncryptedFile(name, **secret)
        assert "\n" not in str(refused.value)


def test_files_of_recipients_and_identities(folder):
    (folder / "team").write_text("# alice, bob\n" + "\n\n".join(recipients(ALICE, BOB)) + "\n")
    (folder / "mine").write_text(f"# public key: …\n{EVE}\n{BOB}\n")
    crossgrain.encrypt_file("plain", "sealed", recipients=[folder / "team", *recipients(EVE)])
    assert opened("sealed", identity=folder / "mine") == opened("sealed", identity=ALICE) == TEXT
    for content, why in ((f"{BOB}\nx", "line 2: this is no identity"), ("# none\n", "holds no identity"), (f"{BOB}\n" * 65, "more than 64")):
        (folder / "mine").write_text(content)
        with pytest.raises(crossgrain.Error, match=f"mine.*{why}") as refused:
            opened("sealed", identity=folder / "mine")
        assert BOB not in str(refused.value)
    (folder / "team").write_text("\nage1x\n")
    with pytest.raises(crossgrain.Error, match="team.*line 2: 'age1x' is no recipient"):
        crossgrain.encrypt_file("plain", "new", recipients=folder / "team")
    with pytest.raises(FileNotFoundError, match="nowhere"):
        opened("sealed", identity=folder / "nowhere")
    with pytest.raises(FileNotFoundError, match="nowhere"):
        crossgrain.encrypt_file("plain", "new", recipients=folder / "nowhere")
    assert not (folder / "new").exists()


def test_malformed_texts_are_refused(folder):
    assert crossgrain.recipient_of(IDENTITY) == RECIPIENT
    for text in ("", "age1", RECIPIENT[:-1], RECIPIENT.upper(), RECIPIENT + "\n", RECIPIENT.replace("q", "p", 1), "ünicode"):
        with pytest.raises(crossgrain.Error, match="is no recipient.*: copy it anew"):
            crossgrain.encrypt_file("plain", "sealed", recipients=[text])
    with pytest.raises(crossgrain.Error, match="is no recipient, for it is an identity") as refused:
        crossgrain.encrypt_file("plain", "sealed", recipients=IDENTITY)
    assert IDENTITY[20:] not in str(refused.value)
    for text in ("", IDENTITY[:-1], IDENTITY.lower(), IDENTITY + " ", IDENTITY.replace("Q", "P", 1), RECIPIENT):
        for use in (crossgrain.recipient_of, lambda text: crossgrain.EncryptedFile("plain", identity=text)):
            with pytest.raises(crossgrain.Error, match="this is no identity.*: copy it anew") as refused:
                use(text)
            assert not text or text not in str(refused.value)
    for wrong in (5, [5], [b"age1"]):
        with pytest.raises(TypeError):
            crossgrain.encrypt_file("plain", "sealed", recipients=wrong)
    assert os.listdir() == ["plain"]


def test_arguments_that_contradict_each_other(folder):
    crossgrain.encrypt_file("plain", "sealed", recipients=recipients(ALICE))
    for given, why in (
        ({}, "nothing would open"),
        ({"recipients": []}, "nothing would open"),
        ({"recipients": RECIPIENT, "key": bytes(32), "passphrase": "words"}, "one of them"),
        ({"recipients": recipients(*(crossgrain.generate_identity() for _ in range(65)))}, "1 to 64"),
        ({"recipients": RECIPIENT, "passphrase": ""}, "the passphrase is empty"),
        ({"recipients": RECIPIENT, "key": bytes(31)}, "32 bytes"),
    ):
        with pytest.raises(crossgrain.Error, match=why):
            crossgrain.encrypt_file("plain", "new", **given)
    for mode, given, why in (
        ("w", {"recipients": RECIPIENT, "identity": ALICE}, "for reading"),
        ("r", {"recipients": RECIPIENT}, "for writing"),
        ("r", {}, "one of them"),
        ("r", {"identity": ALICE, "key": bytes(32)}, "one of them"),
        ("r", {"identity": []}, "an empty list"),
    ):
        with pytest.raises(crossgrain.Error, match=why):
            crossgrain.open("sealed", mode, **given)
    assert opened("sealed", identity=ALICE) == TEXT and sorted(os.listdir()) == ["plain", "sealed"]


def test_a_changed_slot_is_found(folder):
    crossgrain.encrypt_file("plain", "sealed", recipients=recipients(ALICE, BOB))
    sealed = (folder / "sealed").read_bytes()
    share, tag = 14 + 2, int.from_bytes(sealed[12:14], "big") + 14
    for at, error in ((share, crossgrain.WrongKey), (tag, crossgrain.Damaged)):
        (folder / "sealed").write_bytes(sealed[:at] + bytes([sealed[at] ^ 1]) + sealed[at + 1 :])
        with pytest.raises(error):
            opened("sealed", identity=ALICE)


def test_the_command_line_and_the_package_read_each_others_files(folder):
    program = os.environ.get("CROSSGRAIN_PROGRAM")
    if not program:
        pytest.skip("recipients of the command line (CROSSGRAIN_PROGRAM does not name it)")
    run = lambda *command: subprocess.run([program, *command], check=True, capture_output=True, text=True).stdout  # noqa: E731
    (folder / "passphrase").write_text("words\n")
    (folder / "bob").write_text(BOB)
    alice = run("keygen", "--x25519", "-o", "alice").strip()
    identity = (folder / "alice").read_text().splitlines()[-1]
    assert crossgrain.recipient_of(identity) == alice
    assert run("keygen", "--recipient-of", "bob").strip() == crossgrain.recipient_of(BOB)
    run("encrypt", "-r", alice, "--passphrase-file", "passphrase", "plain", "-o", "by-program")
    crossgrain.encrypt_file("plain", "by-package", recipients=[alice, *recipients(BOB)], passphrase="words")
    for secret in ({"identity": folder / "alice"}, {"identity": identity}, {"passphrase": "words"}):
        assert opened("by-program", **secret) == TEXT
    for secret in (("-i", "alice"), ("-i", "bob"), ("--passphrase-file", "passphrase")):
        run("decrypt", *secret, "by-package", "-o", "back", "--force")
        assert (folder / "back").read_bytes() == TEXT
    run("rekey", "-i", "alice", "--keep", "-r", recipients(BOB)[0], "by-program")
    assert opened("by-program", identity=BOB) == TEXT

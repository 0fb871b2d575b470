//! Candidates made of words, rules, masks and second lists, and of several masks: every number has one candidate,
//! wherever a range or a chunk is cut.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

use std::io::Cursor;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use crossgrain_search::{
    Affix, BigUint, Changes, Error, Form, InSpace, Kdf, Known, Refusal, Refused, Rule, Search, Sets, Side,
    Space, SpaceSearch, Spaces, Test, Watch, WordSearch, Words, masks,
};
use proptest::prelude::*;

const WORDS: &[u8] = b"one\ntwo\n$HEX[7a]\n\nlonger\n";

fn words(list: &[u8], chunk_bytes: usize) -> Words<Cursor<Vec<u8>>> {
    Words::new(Cursor::new(list.to_vec()), Form::Lines, chunk_bytes)
}

fn rules() -> Vec<Rule> {
    [&b":"[..], b"u", b">4", b"$!"].map(|rule| Rule::parse(rule).unwrap()).to_vec()
}

/// A digit before, a word of a second list and two letters after each word. Rule `>2` rejects `ab`.
fn affixes() -> Vec<Affix> {
    let mask = |mask: &[u8]| Spaces::from(Sets::default().bytes(mask).unwrap());
    let second = words(b"-x-\nab\n\n", 100);
    let rule = Rule::parse(b"!b").unwrap();
    vec![
        Affix::masks(Side::Before, mask(b"?d")).unwrap(),
        Affix::words(Side::After, second, &rule, &mut Refused::default()).unwrap(),
        Affix::masks(Side::After, mask(b"?ly")).unwrap(),
    ]
}

/// All numbers with their candidates, by nested loops.
fn expected() -> Vec<Option<Vec<u8>>> {
    let mut all = Vec::new();
    for word in ["one", "two", "z", "", "longer"] {
        for rule in 0..4 {
            let changed = match rule {
                1 => Some(word.to_uppercase()),
                2 => Some(word.to_owned()).filter(|word| word.len() >= 4),
                3 => Some(format!("{word}!")),
                _ => Some(word.to_owned()),
            };
            for digit in 0..10 {
                for second in [Some("-x-"), None, Some("")] {
                    for letter in 'a'..='z' {
                        let made = changed.as_ref().zip(second);
                        all.push(
                            made.map(|(word, second)| format!("{digit}{word}{second}{letter}y").into_bytes()),
                        );
                    }
                }
            }
        }
    }
    all
}

/// Keeps every candidate tried, and finds one.
struct Keeps {
    tried: Arc<Mutex<Vec<Vec<u8>>>>,
    right: Vec<u8>,
}

impl Test for Keeps {
    fn name(&self) -> String {
        "a test that keeps candidates".to_owned()
    }

    fn key_bytes(&self) -> Option<usize> {
        None
    }

    fn holds(&self, key: &[u8]) -> Result<bool, Error> {
        self.tried.lock().unwrap().push(key.to_vec());
        Ok(key == self.right)
    }

    fn planted(&self, key: &[u8]) -> Result<Box<dyn Test>, Error> {
        Ok(Box::new(Self { tried: Arc::default(), right: key.to_vec() }))
    }
}

fn keeps(right: &[u8]) -> (Search, Arc<Mutex<Vec<Vec<u8>>>>) {
    let tried = Arc::<Mutex<_>>::default();
    let test = Keeps { tried: Arc::clone(&tried), right: right.to_vec() };
    (Search::new(Known::Test(Box::new(test)), Kdf::Exact).unwrap(), tried)
}

fn made(range: Range<u128>, chunk_bytes: usize) -> Vec<Vec<u8>> {
    let (rules, affixes, mut made) = (rules(), affixes(), Vec::new());
    let changes = Changes::new(&rules, &affixes).unwrap();
    let each = |candidate: &[u8]| {
        made.push(candidate.to_vec());
        Ok::<_, Error>(())
    };
    changes.each(&mut words(WORDS, chunk_bytes), &range, &mut Refused::default(), each).unwrap();
    made
}

#[test]
fn every_combination_has_its_number() {
    let expected = expected();
    let (rules, affixes) = (rules(), affixes());
    assert_eq!(Changes::new(&rules, &affixes).unwrap().per_word(), expected.len() as u64 / 5);
    let all: Vec<_> = expected.iter().flatten().cloned().collect();
    assert_eq!(made(0..u128::MAX, 7), all);
}

proptest! {
    #[test]
    fn ranges_may_be_cut_anywhere(from in 0..15_600_usize, len in 0..900_usize, chunk_bytes in 1..40_usize) {
        let expected = expected();
        let to = (from + len).min(expected.len());
        let from = from.min(to);
        let want: Vec<_> = expected[from..to].iter().flatten().cloned().collect();
        prop_assert_eq!(made(from as u128..to as u128, chunk_bytes), want);
    }
}

/// Each rule of one list is followed by each of the next, the rules of the first fastest. A later rule can use a word
/// that an earlier one stored.
#[test]
fn lists_of_rules_are_combined() {
    let lists = [&b":\nM u\n>4"[..], b":\n$1 4", b"]\n:"].map(|text| Rule::parse_all(text).unwrap());
    let changes = Changes::combined(&lists, &[]).unwrap();
    assert_eq!(changes.per_word(), 12);
    let of_number = |number: u128| {
        let mut made = Vec::new();
        let each = |candidate: &[u8]| {
            made.push(String::from_utf8(candidate.to_vec()).unwrap());
            Ok::<_, Error>(())
        };
        let range = number..number + 1;
        changes.each(&mut words(WORDS, 9), &range, &mut Refused::default(), each).unwrap();
        made.pop()
    };
    let all: Vec<_> = (0..12).map(of_number).collect();
    let some = |word: &str| Some(word.to_owned());
    // `4` rejects words if none is stored, and `>4` short words.
    let without_first = [some("on"), some("ON"), None, None, some("ONE1on"), None];
    let unchanged = [some("one"), some("ONE"), None, None, some("ONE1one"), None];
    assert_eq!(all, [without_first, unchanged].concat());
}

/// The list is searched a few parts at a time, and each time from the number where the last search ended, with a new
/// reader of the list as after a restored session.
#[test]
fn parts_of_words_are_tried_once_each() {
    let (rules, affixes, expected) = (rules(), affixes(), expected());
    let at = expected.iter().rposition(Option::is_some).unwrap();
    let (search, tried) = keeps(expected[at].as_ref().unwrap());
    let found = Mutex::new(Vec::new());
    let on_hit = |hit: crossgrain_search::Hit| found.lock().unwrap().push(hit.number);
    let (mut next, mut rounds) = (0, 0);
    loop {
        let watch = Watch::new(&on_hit);
        let changes = Changes::new(&rules, &affixes).unwrap();
        let search = WordSearch::changed(&search, changes, next..u128::MAX);
        let list = Mutex::new(words(WORDS, 5));
        assert!(search.chunks(&list, 7, &Mutex::default(), &watch).unwrap());
        let after = search.next(&list.into_inner().unwrap());
        if after == next {
            break;
        }
        (next, rounds) = (after, rounds + 1);
    }
    assert!(rounds > 10, "{rounds} rounds: words are not cut");
    let mut tried = std::mem::take(&mut *tried.lock().unwrap());
    let mut all: Vec<_> = expected.into_iter().flatten().collect();
    tried.sort();
    all.sort();
    assert_eq!(tried, all);
    assert_eq!(*found.lock().unwrap(), [BigUint::from(at)]);
}

#[test]
fn lines_that_are_no_words_are_counted_once() {
    let long = [&b"x".repeat(crossgrain_search::WORD_BYTES_MAX + 1)[..], b"\nshort\n"].concat();
    let (rules, affixes) = ([Rule::nothing()], affixes());
    let (search, tried) = keeps(b"");
    let refused = Mutex::default();
    let changes = Changes::new(&rules, &affixes).unwrap();
    let done = WordSearch::changed(&search, changes, 0..u128::MAX).chunks(
        &Mutex::new(words(&long, 100)),
        usize::MAX,
        &refused,
        &Watch::new(&|_| {}),
    );
    assert!(done.unwrap());
    assert!(refused.into_inner().unwrap().iter().eq([(Refusal::TooLong, 1, 0)]));
    assert_eq!(tried.lock().unwrap().len(), 10 * 2 * 26);
}

#[test]
fn too_many_candidates_of_a_word_are_refused() {
    let mask = |len| Spaces::from(Space::every(len));
    assert!(matches!(Affix::masks(Side::After, mask(8)), Err(Error::ManyAffixes)));
    let affixes = [4, 3].map(|len| Affix::masks(Side::After, mask(len)).unwrap());
    assert_eq!(Changes::combined(&[], &affixes).unwrap().per_word(), 1 << 56);
    assert!(matches!(Changes::new(&vec![Rule::nothing(); 128], &affixes), Err(Error::ManyAffixes)));
    let lists = vec![vec![Rule::nothing(); 16]; 2];
    assert!(matches!(Changes::combined(&lists, &affixes), Err(Error::ManyAffixes)));
    let none = Affix::words(Side::After, words(b"", 9), &Rule::nothing(), &mut Refused::default()).unwrap();
    let (rules, affixes) = ([Rule::nothing()], [none]);
    let changes = Changes::new(&rules, &affixes).unwrap();
    let each = |_: &[u8]| panic!("there is no second word");
    changes.each::<_, Error>(&mut words(WORDS, 9), &(0..u128::MAX), &mut Refused::default(), each).unwrap();
}

fn strings(spaces: &Spaces, range: Range<u32>) -> Vec<String> {
    let range = BigUint::from(range.start)..BigUint::from(range.end);
    let mut all = Vec::new();
    for InSpace { space, numbers, .. } in spaces.parts(range) {
        let count = usize::try_from(&numbers.end - &numbers.start).unwrap();
        let some = space.candidates(&numbers.start, count);
        all.extend(some.chunks_exact(space.len_bytes()).map(|one| String::from_utf8(one.to_vec()).unwrap()));
    }
    all
}

#[test]
fn masks_grow_and_are_numbered_in_sequence() {
    let mut sets = Sets::default();
    sets.define(1, b"xyz").unwrap();
    let spaces = Spaces::new(sets.spaces(b"?1ab?1", Some(&(2..=9)), false).unwrap());
    let all = [
        "xa", "ya", "za", "xab", "yab", "zab", "xabx", "xaby", "xabz", "yabx", "yaby", "yabz", "zabx",
        "zaby", "zabz",
    ];
    assert_eq!(spaces.size(), BigUint::from(all.len()));
    for from in 0..all.len() {
        for to in from..=all.len() {
            assert_eq!(strings(&spaces, from as u32..to as u32), all[from..to]);
        }
    }
    assert!(sets.spaces(b"?1", Some(&(2..=3)), false).unwrap().is_empty());
    assert_eq!(sets.spaces(b"?h?h?h?h", Some(&(1..=4)), true).unwrap().len(), 2);
}

/// Hits in later spaces have numbers among all candidates.
#[test]
fn hits_are_numbered_across_spaces() {
    let spaces = Spaces::new(Sets::default().spaces(b"?d?d?d", Some(&(1..=3)), false).unwrap());
    let (search, _) = keeps(b"47");
    let found = Mutex::new(Vec::new());
    let on_hit = |hit: crossgrain_search::Hit| found.lock().unwrap().push(hit.number);
    let watch = Watch::new(&on_hit);
    for InSpace { space, first, numbers } in spaces.parts(BigUint::ZERO..spaces.size()) {
        watch.begin_at(first);
        assert!(SpaceSearch::new(&search, space).unwrap().shard(&numbers, &watch).unwrap());
    }
    assert_eq!(*found.lock().unwrap(), [BigUint::from(10 + 47_u8)]);
    assert_eq!(watch.tried(), 1110);
}

/// The lines are read as hashcat reads them.
#[test]
fn files_of_masks_have_sets_comments_and_literal_commas() {
    let mut sets = Sets::default();
    sets.define(2, b"q").unwrap();
    let text = b"\xef\xbb\xbf# comment\r\nab,\\,c,?1?2\r\n\n\\#a\nx\\\\y?2\na#b\n\\,z\n";
    let masks = masks(text, &sets).unwrap();
    let spaces = Spaces::of_masks(&masks, None, false).unwrap();
    assert_eq!(strings(&spaces, 0..99), ["a,", "ac", "b,", "bc", "#a", "x\\yq", "a#b", ",z"]);
    for (text, line, why) in [
        (&b"a\n?d,"[..], "line 2 ", "empty"),
        (b",?1", "line 1 ", "empty"),
        (b"\n?3", "", "?3"),
        (b"a,b,c,d,e,?1", "line 1 ", "'?5'"),
        ("ä,?1".as_bytes(), "line 1 ", "several bytes"),
    ] {
        let error = crossgrain_search::masks(text, &sets);
        let error = error.and_then(|masks| masks[0].0.bytes(&masks[0].1)).unwrap_err().to_string();
        assert!(error.contains(line) && error.contains(why), "{error}");
    }
    assert!(matches!(crossgrain_search::masks(b"\n# x\n", &sets), Err(Error::NoMasks)));
    assert!(matches!(crossgrain_search::masks(b"\xff\xfea\0", &sets), Err(Error::MaskFile(_))));
}

/// A paused search tries nothing until it goes on, and a stop ends the pause.
#[test]
fn a_search_pauses_goes_on_and_stops() {
    let (search, tried) = keeps(b"");
    let space = Sets::default().bytes(b"?d?d?d").unwrap();
    let watch = Watch::new(&|_| {});
    watch.pause();
    std::thread::scope(|scope| {
        let prepared = SpaceSearch::new(&search, &space).unwrap();
        let range = BigUint::ZERO..space.size();
        let watch = &watch;
        let searching = scope.spawn(move || prepared.shard(&range, watch).unwrap());
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!(watch.is_paused() && watch.tried() == 0 && tried.lock().unwrap().is_empty());
        watch.resume();
        assert!(searching.join().unwrap());
    });
    assert!(watch.tried() == 1000 && !watch.is_paused() && !watch.paused().is_zero());
    watch.pause();
    watch.stop();
    assert!(watch.is_stopped() && !watch.is_paused());
    watch.pause();
    assert!(!watch.is_paused());
}

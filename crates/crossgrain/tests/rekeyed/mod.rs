//! Modes that run under a key, get another one, and stay in memory. Nothing of the first key may remain.

use std::mem;

use crossgrain::mode::{
    Aead, Cbc, Ccm, Cfb8, Chain, Cmac, Ctr, Eax, Ecb, Gcm, GcmSiv, Mode, Ocb, Options, Siv, SivKey, Xts,
    XtsKey,
};
use crossgrain::{Cipher, Direction, Key};

use crate::common::painted;

/// Creates a mode (CMAC if `mode` is `None`), runs messages, calls `alive`, replaces the key and leaks the mode.
pub(crate) fn run(
    (mode, direction): (Option<Mode>, Direction),
    cipher: Cipher,
    options: &Options,
    lens: &[usize],
    bytes: &[u8],
    alive: &dyn Fn(),
) {
    let other = painted(bytes.len(), 31_337);
    let key = |bytes: &[u8]| Key::new(cipher, bytes).unwrap();
    let whole = || lens.iter().map(|&len| vec![7; len.next_multiple_of(16)]);
    macro_rules! rekeyed {
        ($mode:expr, |$bound:ident| $work:expr, $other:expr) => {{
            let mut $bound = $mode.unwrap();
            $work;
            alive();
            $bound.rekey($other).unwrap();
            mem::forget($bound);
        }};
    }
    macro_rules! sealing {
        ($mode:expr, $other:expr) => {
            rekeyed!($mode, |bound| sealed(&bound, lens), $other)
        };
    }
    match mode.map_or("cmac", |mode| mode.entry().name) {
        "cmac" => rekeyed!(
            Cmac::with_options(&key(bytes), options),
            |cmac| whole().for_each(|piece| assert_ne!(cmac.tag(&piece)[..], [0; 16])),
            &key(&other)
        ),
        "ecb" => rekeyed!(
            Ecb::with_options(&key(bytes), direction, options),
            |ecb| whole().for_each(|mut piece| ecb.apply(&mut piece).unwrap()),
            &key(&other)
        ),
        "ctr" => {
            let mut ctr = Ctr::with_options(&key(bytes), &[1; 16], options).unwrap();
            whole().for_each(|mut piece| ctr.apply(&mut piece));
            alive();
            ctr.rekey(&key(&other), &[2; 16]).unwrap();
            mem::forget(ctr);
        }
        "cbc" => rekeyed!(
            Cbc::with_options(&key(bytes), direction, options),
            |cbc| whole().for_each(|mut piece| cbc.apply(&mut Chain::from([3; 16]), &mut piece).unwrap()),
            &key(&other)
        ),
        "cfb8" => rekeyed!(
            Cfb8::with_options(&key(bytes), direction, options),
            |cfb| whole().for_each(|mut piece| cfb.apply(&mut Chain::from([3; 16]), &mut piece)),
            &key(&other)
        ),
        "xts" => rekeyed!(
            Xts::with_options(&XtsKey::new(cipher, bytes).unwrap(), direction, 512, options),
            |xts| whole().for_each(|mut piece| xts.apply(5, &mut piece).unwrap()),
            &XtsKey::new(cipher, &other).unwrap()
        ),
        "gcm" => sealing!(Gcm::with_options(&key(bytes), 16, options), &key(&other)),
        "gcm-siv" => sealing!(GcmSiv::with_options(&key(bytes), options), &key(&other)),
        "ocb" => sealing!(Ocb::with_options(&key(bytes), 16, options), &key(&other)),
        "ccm" => sealing!(Ccm::with_options(&key(bytes), 16, options), &key(&other)),
        "eax" => sealing!(Eax::with_options(&key(bytes), 16, options), &key(&other)),
        "siv" => {
            let keys = |bytes| SivKey::new(cipher, bytes).unwrap();
            sealing!(Siv::with_options(&keys(bytes), options), &keys(&other));
        }
        other => unreachable!("{other} has the code of CBC or CFB-8"),
    }
}

/// Whether [`run`] has this mode. CFB and OFB are CBC with another rule, and CFB-1 is CFB-8 with other segments.
pub(crate) fn has(mode: Mode) -> bool {
    !matches!(mode.entry().name, "cfb" | "cfb1" | "ofb")
}

fn sealed(mode: &dyn Aead, lens: &[usize]) {
    for &len in lens {
        let mut piece = vec![7; len];
        let tag = mode.seal_with(b"twelve bytes", &[b"header"], (&mut piece[..]).into()).unwrap();
        mode.open_with(b"twelve bytes", &[b"header"], &tag, (&mut piece[..]).into()).unwrap();
    }
}

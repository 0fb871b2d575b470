//! crossgrain by its public interface, on one thread.

use std::time::Instant;

use crossgrain::mode::{
    Aead, AeadMessage, Cbc, Ccm, Chain, Cmac, Ctr, Eax, Ecb, Gcm, GcmSiv, Message as CbcMessage, Mode, Ocb,
    Options, Siv, SivKey, Tag, Xts, XtsKey,
};
use crossgrain::{BLOCK_BYTES, Block, Direction, Key};

use crate::job::Job;
use crate::messages::{Message, Messages};
use crate::worker::{How, InPlace, Refusal, SetKey, Time, Worker, each, nanoseconds};

/// This library.
pub(crate) struct Ours;

/// A mode made for a key, whose key is replaced in place afterwards.
macro_rules! keyed {
    ($key:ident, |$of:ident| $mode:ident::with_options($($argument:expr),*)) => {
        InPlace(
            |bytes: &[u8]| {
                let $of = $key(bytes)?;
                Ok::<_, Refusal>($mode::with_options($($argument),*)?)
            },
            |mode: &mut $mode, bytes: &[u8]| Ok::<_, Refusal>(mode.rekey(&$key(bytes)?)?),
        )
    };
}

impl Worker for Ours {
    fn name(&self) -> Result<String, Refusal> {
        let version = concat!("crossgrain ", env!("CARGO_PKG_VERSION"));
        let cap = std::env::var("CROSSGRAIN_ISA");
        Ok(cap.map_or(version.to_owned(), |cap| format!("{version} (CROSSGRAIN_ISA={cap})")))
    }

    fn run(&self, job: &Job, how: How, messages: &mut Messages) -> Time {
        let messages = &mut messages.all();
        let options = &Options { threads: 1, ..Options::default() };
        let direction = if how.opens { Direction::Decrypt } else { Direction::Encrypt };
        let key = |bytes: &[u8]| Key::new(job.cipher, bytes);
        match job.mode {
            None => authenticate(how, messages, keyed!(key, |key| Cmac::with_options(&key, options))),
            Some(Mode::Gcm) => {
                seal(how, messages, keyed!(key, |key| Gcm::with_options(&key, BLOCK_BYTES, options)))
            }
            Some(Mode::Ocb) => {
                seal(how, messages, keyed!(key, |key| Ocb::with_options(&key, BLOCK_BYTES, options)))
            }
            Some(Mode::Ccm) => {
                seal(how, messages, keyed!(key, |key| Ccm::with_options(&key, BLOCK_BYTES, options)))
            }
            Some(Mode::Eax) => {
                seal(how, messages, keyed!(key, |key| Eax::with_options(&key, BLOCK_BYTES, options)))
            }
            Some(Mode::GcmSiv) => seal(how, messages, keyed!(key, |key| GcmSiv::with_options(&key, options))),
            Some(Mode::Siv) => {
                let key = |bytes: &[u8]| SivKey::new(job.cipher, bytes);
                seal(how, messages, keyed!(key, |key| Siv::with_options(&key, options)))
            }
            Some(Mode::Ecb) => {
                let make = keyed!(key, |key| Ecb::with_options(&key, direction, options));
                each(how, messages, make, |ecb, _, message, in_place| match in_place {
                    true => Ok(ecb.apply(&mut *message.output)?),
                    false => Ok(ecb.apply((message.source, &mut *message.output))?),
                })
            }
            Some(Mode::Ctr) => {
                let make = InPlace(
                    |bytes: &[u8]| {
                        Ok::<_, Refusal>(Ctr::with_options(&key(bytes)?, &[0; BLOCK_BYTES], options)?)
                    },
                    |ctr: &mut Ctr, bytes: &[u8]| {
                        Ok::<_, Refusal>(ctr.rekey(&key(bytes)?, &[0; BLOCK_BYTES])?)
                    },
                );
                // The stream of a key begins at a counter of zero, so a message's counter is a place in it.
                each(how, messages, make, |ctr, _, message, in_place| {
                    let place = u128::from_be_bytes(message.nonce.try_into()?) << 4;
                    match in_place {
                        true => ctr.apply_at(place, &mut *message.output),
                        false => ctr.apply_at(place, (message.source, &mut *message.output)),
                    }
                    Ok(())
                })
            }
            Some(Mode::Cbc) => {
                let make = keyed!(key, |key| Cbc::with_options(&key, direction, options));
                if how.many {
                    return chain_many(how, messages, make);
                }
                each(how, messages, make, |cbc, _, message, _| {
                    let mut chain = Chain::from(Block::try_from(message.nonce)?);
                    Ok(cbc.apply(&mut chain, (message.source, &mut *message.output))?)
                })
            }
            Some(Mode::Xts) => {
                // A key set-up without messages has sectors too.
                let sector = messages.first().map_or(0, |message| message.source.len()).max(BLOCK_BYTES);
                let key = |bytes: &[u8]| XtsKey::new(job.cipher, bytes);
                let make = keyed!(key, |key| Xts::with_options(&key, direction, sector, options));
                each(how, messages, make, |xts, _, message, _| {
                    let number = u128::from_le_bytes(message.nonce.try_into()?);
                    Ok(xts.apply(number, (message.source, &mut *message.output))?)
                })
            }
            Some(_) => Err(Refusal::None("not compared")),
        }
    }
}

/// A mode with a tag.
fn seal<A: Aead>(how: How, messages: &mut [Message<'_>], make: impl SetKey<A>) -> Time {
    if how.many {
        return seal_many(how, messages, make);
    }
    if how.opens {
        return each(how, messages, make, |mode, _, message, _| {
            Ok(mode.open(message.nonce, &[], message.tag, (message.source, &mut *message.output))?)
        });
    }
    let mut tags = vec![Tag::default(); messages.len()];
    let ns = each(how, messages, make, |mode, number, message, in_place| {
        let nonce = message.nonce;
        tags[number] = match in_place {
            true => mode.seal(nonce, &[], &mut *message.output)?,
            false => mode.seal(nonce, &[], (message.source, &mut *message.output))?,
        };
        Ok(())
    });
    if !how.only_keys {
        messages.iter_mut().zip(&tags).for_each(|(message, tag)| message.tag.copy_from_slice(tag));
    }
    ns
}

/// Messages of one call. The list is made anew for every call, as a caller's would be.
fn seal_many<A: Aead>(how: How, messages: &mut [Message<'_>], make: impl SetKey<A>) -> Time {
    let mode = make.make(messages[0].key)?;
    let mut made = Vec::with_capacity(messages.len());
    let start = Instant::now();
    for _ in 0..how.repeats {
        let mut list: Vec<_> = messages
            .iter_mut()
            .map(|message| AeadMessage::new(message.nonce, &[], (message.source, &mut *message.output)))
            .collect();
        mode.seal_many(&mut list)?;
        made.clear();
        made.extend(list.into_iter().map(|message| message.tag));
    }
    let ns = nanoseconds(start);
    messages.iter_mut().zip(&made).for_each(|(message, tag)| message.tag.copy_from_slice(tag));
    Ok(ns)
}

/// The same of CBC.
fn chain_many(how: How, messages: &mut [Message<'_>], make: impl SetKey<Cbc>) -> Time {
    let cbc = make.make(messages[0].key)?;
    let start = Instant::now();
    for _ in 0..how.repeats {
        let mut list = Vec::with_capacity(messages.len());
        for message in &mut *messages {
            list.push(CbcMessage::new(
                Block::try_from(message.nonce)?,
                (message.source, &mut *message.output),
            ));
        }
        cbc.apply_many(&mut list)?;
    }
    Ok(nanoseconds(start))
}

/// CMAC, which makes tags alone.
fn authenticate(how: How, messages: &mut [Message<'_>], make: impl SetKey<Cmac>) -> Time {
    if !how.many {
        return each(how, messages, make, |cmac, _, message, _| {
            message.tag.copy_from_slice(&cmac.tag(message.source));
            Ok(())
        });
    }
    let cmac = make.make(messages[0].key)?;
    let start = Instant::now();
    for _ in 0..how.repeats {
        let list: Vec<_> = messages.iter().map(|message| message.source).collect();
        for (message, tag) in messages.iter_mut().zip(cmac.tag_many(&list)) {
            message.tag.copy_from_slice(&tag);
        }
    }
    Ok(nanoseconds(start))
}

//! `crossgrain devices`: the CPU is always there, and whatever is not there is told in a line.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use common::{Done, crossgrain};
use serde_json::Value;

fn printed(args: &[&str]) -> String {
    String::from_utf8(Done::from(crossgrain(args).output().unwrap()).printed()).unwrap()
}

#[test]
fn every_device_and_every_lack_has_a_line() {
    let told: Value = serde_json::from_str(&printed(&["devices", "--json"])).unwrap();
    let (devices, missing) = (told["devices"].as_array().unwrap(), told["missing"].as_array().unwrap());
    let text = printed(&["devices"]);
    assert_eq!(text.lines().count(), devices.len() + missing.len());
    for (line, device) in text.lines().zip(devices) {
        assert!(line.starts_with(device["id"].as_str().unwrap()), "{line}");
        assert!(line.contains(device["name"].as_str().unwrap()), "{line}");
    }
    assert_eq!(devices[0]["id"], "cpu");
    for none in missing {
        assert!(text.contains(none["why"].as_str().unwrap()), "{none}");
    }
}

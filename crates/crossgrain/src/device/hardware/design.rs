//! The top modules of designs: registers, counters and handshakes around the logic of cycles.

use std::ops::Range;

use super::chain::Chain;
use super::part::{Cells, concatenated, slice};
use super::step::{chosen, count_bits};
use super::{Architecture, Design};
use crate::device::of_family;

/// The chains of a design, and the circuits that they use.
pub(super) struct Chains {
    pub(super) rounds: Chain,
    pub(super) schedule: Chain,
    pub(super) cells: Cells,
    pub(super) round_key_bytes: usize,
}

impl Chains {
    /// The chains of a design.
    pub(super) fn of(design: Design) -> Self {
        let recorded = (of_family(design.cipher.family()).recorded)(design.cipher, design.direction);
        let rounds = Chain::of(&recorded.rounds, &recorded.constants);
        let schedule = Chain::of(&recorded.schedule, &recorded.constants);
        let mut cells = Cells::default();
        cells.add(&rounds.parts, &recorded);
        cells.add(&schedule.parts, &recorded);
        Self { rounds, schedule, cells, round_key_bytes: recorded.round_key_bytes }
    }

    /// The whole text of a design.
    pub(super) fn text(&self, design: Design) -> String {
        let top = design.module();
        let mut text = format!(
            "// {top}: a design by crossgrain.
// Bit 8*i + j of a key or block is bit j of its byte i. A transfer happens at each rising edge of clk where
// valid and ready are 1. A key takes {} cycles and a block {}. rst is synchronous and removes the key.\n\n",
            self.schedule.cycles.len(),
            self.rounds.cycles.len()
        );
        for (chain, end) in [(&self.rounds, "round"), (&self.schedule, "key")] {
            for (number, known) in chain.parts.iter().enumerate() {
                text += &self.cells.module(known, &format!("{top}_{end}_part{number}"));
            }
        }
        text += &self.schedule.step(&format!("{top}_key"));
        match design.architecture {
            Architecture::Iterated => text += &self.rounds.step(&format!("{top}_round")),
            Architecture::Pipelined => {
                let kinds = 0..self.rounds.shapes.len();
                text +=
                    &kinds.map(|kind| self.rounds.kind(&format!("{top}_round"), kind)).collect::<String>();
            }
        }
        text + &self.top(design, &top)
    }

    /// The top module.
    fn top(&self, design: Design, top: &str) -> String {
        let key_bits = 8 * design.cipher.key_bytes();
        let list = [
            "input wire clk".to_owned(),
            "input wire rst".to_owned(),
            "input wire key_valid".to_owned(),
            "output wire key_ready".to_owned(),
            format!("input wire [{}:0] key", key_bits - 1),
            "input wire in_valid".to_owned(),
            "output wire in_ready".to_owned(),
            "input wire [127:0] in_block".to_owned(),
            "output wire out_valid".to_owned(),
            "input wire out_ready".to_owned(),
            "output wire [127:0] out_block".to_owned(),
        ];
        let (schedule, on_clock) = self.schedule(top);
        let (body, rounds_on_clock) = match design.architecture {
            Architecture::Iterated => self.iterated(top),
            Architecture::Pipelined => self.pipelined(top),
        };
        let reset = rounds_on_clock.reset;
        format!(
            "module {top}(\n  {}\n);\n{schedule}{body}
  always @(posedge clk)
    if (rst) begin
      key_busy <= 1'b0;
      keyed <= 1'b0;
{reset}    end else begin
{on_clock}{}    end
endmodule
",
            list.join(",\n  "),
            rounds_on_clock.next
        )
    }

    /// The registers of the key schedule, and the assignments to them at a clock edge.
    fn schedule(&self, top: &str) -> (String, String) {
        let chain = &self.schedule;
        let (count, width) = (chain.cycles.len(), 8 * chain.width - 1);
        let bits = count_bits(count);
        let declared = format!(
            "  // The key schedule writes all round keys, in order of use.
  reg [{}:0] round_keys;
  reg [{width}:0] key_state;
  reg [{}:0] key_cycle;
  reg key_busy, keyed;
  wire [{width}:0] key_next;
  wire [{}:0] kept;
  {top}_key_step key_step(.cycle(key_cycle), .s(key_state), .next(key_next), .kept(kept));
",
            8 * self.round_key_bytes - 1,
            bits - 1,
            8 * chain.kept() - 1
        );
        let writes = chain.cycles.iter().enumerate().filter(|(_, cycle)| !cycle.places.is_empty());
        let writes = writes.map(|(at, cycle)| {
            let lines: String = stretches(&cycle.places)
                .map(|(from, place, count)| {
                    let bits = |at: usize| format!("[{}:{}]", 8 * (at + count) - 1, 8 * at);
                    format!("            round_keys{} <= kept{};\n", bits(place), bits(from))
                })
                .collect();
            format!("          {bits}'d{at}: begin\n{lines}          end\n")
        });
        let on_clock = format!(
            "      if (key_valid && key_ready) begin
        key_state <= {};
        key_cycle <= {bits}'d0;
        key_busy <= 1'b1;
        keyed <= 1'b0;
      end else if (key_busy) begin
        key_state <= key_next;
        key_cycle <= key_cycle + {bits}'d1;
        if (key_cycle == {bits}'d{}) begin
          key_busy <= 1'b0;
          keyed <= 1'b1;
        end
        case (key_cycle)
{}          default: ;
        endcase
      end
",
            started(&chain.start, chain.width, "key"),
            count - 1,
            writes.collect::<String>()
        );
        (declared, on_clock)
    }

    /// One cycle of logic, and a counter.
    fn iterated(&self, top: &str) -> (String, OnClock) {
        let chain = &self.rounds;
        let (count, width) = (chain.cycles.len(), 8 * chain.width - 1);
        let bits = count_bits(count);
        let keys = chain.cycles.iter().enumerate().map(|(at, cycle)| {
            let end = cycle.keys.end.max(cycle.keys.start + 1);
            (at, format!("round_keys[{}:{}]", 8 * end - 1, 8 * cycle.keys.start))
        });
        let body = format!(
            "  reg [{width}:0] state;
  reg [{}:0] cycle;
  reg busy, done;
  wire [{width}:0] next;
{}  {top}_round_step round_step(.cycle(cycle), .s(state), .k(round_key), .next(next));
  assign key_ready = !key_busy && !busy && !done;
  // A waiting key goes before waiting blocks.
  assign in_ready = keyed && !busy && !done && !key_valid;
  assign out_valid = done;
  assign out_block = state[127:0];
",
            bits - 1,
            chosen("round_key", 8 * chain.keys(), ("cycle", bits), &keys.collect::<Vec<_>>())
        );
        let next = format!(
            "      if (in_valid && in_ready) begin
        state <= {};
        cycle <= {bits}'d0;
        busy <= 1'b1;
      end else if (busy) begin
        state <= next;
        cycle <= cycle + {bits}'d1;
        if (cycle == {bits}'d{}) begin
          busy <= 1'b0;
          done <= 1'b1;
        end
      end else if (done && out_ready) done <= 1'b0;
",
            started(&chain.start, chain.width, "in_block"),
            count - 1
        );
        (body, OnClock { reset: "      busy <= 1'b0;\n      done <= 1'b0;\n".to_owned(), next })
    }

    /// A register after each cycle of logic. All stages move together.
    fn pipelined(&self, top: &str) -> (String, OnClock) {
        let chain = &self.rounds;
        let (count, width) = (chain.cycles.len(), 8 * chain.width - 1);
        let mut body = format!(
            "  reg [{count}:1] full;
  wire move = !full[{count}] || out_ready;
  wire [{width}:0] state0 = {};
",
            started(&chain.start, chain.width, "in_block")
        );
        let mut moves = format!("        full <= {{full[{}:1], in_valid && in_ready}};\n", count - 1);
        for (at, cycle) in chain.cycles.iter().enumerate() {
            let after = at + 1;
            let key = round_key(cycle.keys.clone(), chain.keys());
            body += &format!("  reg [{width}:0] state{after};\n  wire [{width}:0] next{after};\n");
            body += &format!(
                "  {top}_round_kind{} stage{after}(.s(state{at}), .k({key}), .next(next{after}));\n",
                cycle.shape
            );
            moves += &format!("        state{after} <= next{after};\n");
        }
        body += &format!(
            "  assign key_ready = !key_busy && full == {count}'b0;
  // A waiting key goes before waiting blocks.
  assign in_ready = keyed && move && !key_valid;
  assign out_valid = full[{count}];
  assign out_block = state{count}[127:0];
"
        );
        let next = format!("      if (move) begin\n{moves}      end\n");
        (body, OnClock { reset: format!("      full <= {count}'b0;\n"), next })
    }
}

/// Assignments to the registers of the rounds at a clock edge.
struct OnClock {
    /// On reset.
    reset: String,
    /// Otherwise.
    next: String,
}

/// The first state of a chain: bytes of an input.
fn started(start: &[usize], width: usize, input: &str) -> String {
    let padding = (start.len()..width).map(|_| "8'b0".to_owned());
    concatenated(start.iter().map(|&at| slice(input, at)).chain(padding))
}

/// The round keys of a cycle, with zeros above them.
fn round_key(keys: Range<usize>, width: usize) -> String {
    let padding = (keys.len()..width).map(|_| "8'b0".to_owned());
    let bytes = keys.len();
    match bytes {
        0 => format!("{}'b0", 8 * width),
        _ if bytes == width => format!("round_keys[{}:{}]", 8 * keys.end - 1, 8 * keys.start),
        _ => concatenated(
            [format!("round_keys[{}:{}]", 8 * keys.end - 1, 8 * keys.start)].into_iter().chain(padding),
        ),
    }
}

/// Stretches of successive places: the index of the first one, the place, and the count.
fn stretches(places: &[usize]) -> impl Iterator<Item = (usize, usize, usize)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let (from, first) = (at, *places.get(at)?);
        while places.get(at) == Some(&(first + at - from)) {
            at += 1;
        }
        Some((from, first, at - from))
    })
}

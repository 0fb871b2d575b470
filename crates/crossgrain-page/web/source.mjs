// Inputs. A file that changes while it is read is refused.

import { Refusal } from "./engine.mjs";

// Runs a read, and explains its failure.
async function explained(read) {
  try {
    return await read();
  } catch (error) {
    if (error.name === "NotFoundError") {
      throw new Refusal("cannot read the file: there is no such file or directory, check the path");
    }
    if (error.name === "NotReadableError") throw changed();
    throw error;
  }
}

function changed() {
  return new Refusal("the file was changed while it was read: try again when it is at rest");
}

// The first bytes of a file.
export function start(file, count) {
  return explained(async () => new Uint8Array(await file.slice(0, count).arrayBuffer()));
}

// Reads a file from a position on, in groups of a length. The last one is shorter than the others, and may be empty.
// One stream is faster than many slices, because the browser takes long to begin a read. With `isSecret`, buffers are
// overwritten after use.
export function readable(file, from, groupBytes, isSecret) {
  const fill = filler(file.slice(from).stream(), isSecret);
  const free = [];
  let position = from;
  return {
    async next() {
      let group = free.pop() ?? new Uint8Array(groupBytes);
      let used = 0;
      for (let count = 1; count > 0 && used < groupBytes; used += count) {
        [group, count] = await explained(() => fill.next(group, used));
      }
      position += used;
      if (used < groupBytes && position !== file.size) throw changed();
      return group.subarray(0, used);
    },
    // Takes the buffer of a group for another one.
    reuse(group) {
      free.push(new Uint8Array(group.buffer));
    },
    async close() {
      if (isSecret) free.forEach((group) => group.fill(0));
      await fill.cancel().catch(() => {});
    },
  };
}

// Fills buffers from a stream. `next` gives the buffer and the number of new bytes, 0 at the end.
function filler(stream, isSecret) {
  const reader = byteReader(stream);
  if (reader) {
    return {
      async next(group, used) {
        const { value } = await reader.read(group.subarray(used));
        return [new Uint8Array(value.buffer), value.length];
      },
      cancel: () => reader.cancel(),
    };
  }
  const copied = stream.getReader();
  let left = new Uint8Array(0);
  return {
    async next(group, used) {
      if (left.length === 0) left = (await copied.read()).value ?? left;
      const part = left.subarray(0, group.length - used);
      group.set(part, used);
      left = left.subarray(part.length);
      const count = part.length;
      if (isSecret) part.fill(0);
      return [group, count];
    },
    cancel: () => copied.cancel(),
  };
}

// A reader that writes into given buffers, or null if the browser has none for files.
function byteReader(stream) {
  try {
    return stream.getReader({ mode: "byob" });
  } catch {
    return null;
  }
}

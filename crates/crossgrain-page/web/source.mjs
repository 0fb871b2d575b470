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

// Reads a part of a file.
export function part(file, from, to) {
  return explained(async () => {
    const bytes = new Uint8Array(await file.slice(from, to).arrayBuffer());
    if (bytes.length !== Math.min(to, file.size) - from) throw changed();
    return bytes;
  });
}

// Groups that are read at once, because the browser takes long to begin a read.
const READ_AHEAD = 4;

// Reads a file from a position on, in groups of a length. The last one is shorter than the others, and may be empty.
// Slices are used and not a stream: in Chromium 156 a stream of a large file sometimes stopped for good.
export function readable(file, from, groupBytes) {
  const reads = [];
  let at = from;
  const fill = () => {
    for (; reads.length < READ_AHEAD && at <= file.size; at += groupBytes) {
      const read = part(file, at, Math.min(at + groupBytes, file.size));
      read.catch(() => {}); // it is awaited later, unless an earlier group fails
      reads.push(read);
    }
  };
  return {
    async next() {
      fill();
      const bytes = await reads.shift();
      fill();
      return bytes;
    },
  };
}

// Reads the input and writes the output of one file, for `disk.mjs`.

import { answerCalls } from "./remote.mjs";
import { chosenFile, storedFile } from "./sink.mjs";
import { Source } from "./source.mjs";

let source;
let sink;
let writing = Promise.resolve();

answerCalls({
  read({ file, from, groupBytes }) {
    source = new Source(file, from, groupBytes);
  },
  async next(buffer) {
    const bytes = await source.next(buffer);
    return [bytes, [bytes.buffer]];
  },
  async create({ handle, storedName }) {
    sink = await (handle ? chosenFile(handle) : storedFile(storedName));
  },
  // Writes are done in the order of their calls.
  async write(bytes) {
    writing = writing.then(() => sink.write(bytes));
    await writing;
    return [bytes, [bytes.buffer]];
  },
  finish: () => sink.finish(),
  abandon: () => sink?.abandon(),
});

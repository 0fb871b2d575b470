// Calls of functions in other workers, by messages with numbers. Buffers are transferred and not copied.

import { Refusal } from "./engine.mjs";

// A worker whose functions can be called.
export class Remote {
  #worker;
  #url;
  #calls = new Map();
  #number = 0;
  #failure = null;

  // `name` is a file of this folder that calls `answerCalls`.
  constructor(name) {
    // A worker from this blob has the page's rule for connections. One from a file has that of the server.
    const code = `import ${JSON.stringify(new URL(name, import.meta.url).href)};`;
    this.#url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
    this.#worker = new Worker(this.#url, { type: "module" });
    this.#worker.onmessage = ({ data }) => this.#receive(data);
    this.#worker.onerror = ({ message }) => {
      this.#failure = new Error(message);
      for (const { fail } of this.#calls.values()) fail(this.#failure);
    };
  }

  #receive({ number, answer, error }) {
    const { done, fail } = this.#calls.get(number);
    this.#calls.delete(number);
    if (!error) done(answer);
    else fail(error.isRefusal ? new Refusal(error.message) : new DOMException(error.message, error.name));
  }

  // Calls a function with one value.
  call(name, value, transfer = []) {
    const number = (this.#number += 1);
    if (!this.#failure) this.#worker.postMessage({ number, name, value }, transfer);
    const answer = new Promise((done, fail) => {
      if (this.#failure) fail(this.#failure);
      else this.#calls.set(number, { done, fail });
    });
    answer.catch(() => {}); // it may be awaited later, or never after another failure
    return answer;
  }

  end() {
    this.#worker.terminate();
    URL.revokeObjectURL(this.#url);
  }
}

// Answers calls in a worker. Each function gives its answer and the buffers to transfer.
export function answerCalls(functions) {
  self.onmessage = async ({ data: { number, name, value } }) => {
    try {
      const [answer, transfer] = (await functions[name](value)) ?? [];
      self.postMessage({ number, answer }, transfer ?? []);
    } catch (error) {
      const { name, message } = error;
      self.postMessage({ number, error: { name, message, isRefusal: error instanceof Refusal } });
    }
  };
}

/** Pauses that grow and are never in step with those of others. */
export class Backoff {
  #tries = 0;
  #firstMs;
  #mostMs;

  constructor(firstMs, mostMs) {
    this.#firstMs = firstMs;
    this.#mostMs = mostMs;
  }

  next() {
    const pause = Math.min(this.#firstMs * 2 ** this.#tries++, this.#mostMs);
    return pause * (0.5 + Math.random());
  }

  reset() {
    this.#tries = 0;
  }
}

/** Wait so long, or until the signal is given. */
export function pause(ms, signal) {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done);
  });
}

/** A promise, and how to settle it. */
export function deferred() {
  const made = {};
  made.promise = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }));
  made.promise.catch(() => {}); // whoever waits is told
  return made;
}

// What was sent to one session, so that a client that lost a stream can have the rest of it. It is the SDK that sends.

/** More than any test needs. */
const MOST_EVENTS = 1000;

export class Events {
  #events = [];
  #stored = 0;

  #find(id) {
    return this.#events.findIndex((event) => event.id === id);
  }

  async storeEvent(streamId, message) {
    this.#stored += 1;
    const id = String(this.#stored);
    this.#events.push({ id, streamId, message });
    if (this.#events.length > MOST_EVENTS) this.#events.shift();
    return id;
  }

  async getStreamIdForEventId(id) {
    return this.#events[this.#find(id)]?.streamId;
  }

  /** Sends what came after an event of a stream, and says which stream that was. */
  async replayEventsAfter(id, { send }) {
    const at = this.#find(id);
    if (at === -1) throw new Error(`there is no event ${id}`);
    const { streamId } = this.#events[at];
    // The first event of a stream only gives it an id to resume from, and has no message.
    const missed = this.#events
      .slice(at + 1)
      .filter((event) => event.streamId === streamId && event.message.jsonrpc !== undefined);
    for (const event of missed) await send(event.id, event.message);
    return streamId;
  }
}

// The events of one session, so that a client can resume a lost stream. The SDK sends them.

/** More than any test needs. */
const EVENTS_LIMIT = 1000;

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
    if (this.#events.length > EVENTS_LIMIT) this.#events.shift();
    return id;
  }

  async getStreamIdForEventId(id) {
    return this.#events[this.#find(id)]?.streamId;
  }

  /** Sends the events after an event of a stream, and returns the id of the stream. */
  async replayEventsAfter(id, { send }) {
    const index = this.#find(id);
    if (index === -1) throw new Error(`unknown event ${id}`);
    const { streamId } = this.#events[index];
    // The first event of a stream has no message, only an id to resume from.
    const missed = this.#events
      .slice(index + 1)
      .filter((event) => event.streamId === streamId && event.message.jsonrpc !== undefined);
    for (const event of missed) await send(event.id, event.message);
    return streamId;
  }
}

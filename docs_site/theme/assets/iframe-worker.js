// Browsers refuse workers to pages that are opened from disk, and the search of this site runs in one. There, a hidden
// frame takes the place of a worker: its script runs in a window of its own and answers by messages.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.title = "search";
      frame.srcdoc = `<!doctype html><html lang="en"><title>search</title><script src="${address}"></script></html>`;
      frame.addEventListener("load", () => {
        this.inner = frame.contentWindow;
        this.inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
        this.waiting.forEach((data) => this.postMessage(data));
      });
      document.body.append(frame);
    }

    postMessage(data) {
      if (this.inner) this.inner.dispatchEvent(new MessageEvent("message", { data }));
      else this.waiting.push(data);
    }
  };
}

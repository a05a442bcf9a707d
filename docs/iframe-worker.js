// The site's search in files that no server sends: browsers start no worker from a file: address, so that the search
// script runs in a hidden frame. The theme looks for `IFrameWorker`, and posts and reads messages as of a worker.
class FrameWorker extends EventTarget {
  constructor(url) {
    super();
    this.frame = document.createElement("iframe");
    this.frame.hidden = true;
    this.frame.srcdoc = "<body></body>";
    this.ready = new Promise((resolve) => {
      this.frame.onload = () => resolve(this.start(url));
    });
    document.body.append(this.frame);
  }

  start(url) {
    const inside = this.frame.contentWindow;
    const load = (address) =>
      new Promise((resolve, reject) => {
        const script = inside.document.createElement("script");
        Object.assign(script, { src: address, onload: resolve, onerror: reject });
        inside.document.body.append(script);
      });
    inside.importScripts = (...urls) =>
      urls.reduce((before, address) => before.then(() => load(address)), Promise.resolve());
    inside.postMessage = (data) => {
      const answer = new MessageEvent("message", { data });
      this.dispatchEvent(answer);
      if (this.onmessage) this.onmessage(answer);
    };
    return load(new URL(url, location.href));
  }

  postMessage(data) {
    const inside = this.frame.contentWindow;
    const message = { data: structuredClone(data) };
    this.ready.then(() => inside.dispatchEvent(new inside.MessageEvent("message", message)));
  }

  terminate() {
    this.frame.remove();
  }
}

window.IFrameWorker = FrameWorker;
if (location.protocol === "file:") window.Worker = FrameWorker;

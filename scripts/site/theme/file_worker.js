// Browsers start no Worker for a page that is opened from a file. In its place a hidden frame runs the script, which searches, in
// the page's own thread.
if (location.protocol === "file:") {
  window.Worker = window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.ready = new Promise((resolve) => (this.frame.onload = resolve)).then(() => {
        this.inside = this.frame.contentWindow;
        this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      });
      this.frame.srcdoc = `<script src="${url}"></script>`;
      document.body.append(this.frame);
    }
    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() {
      this.frame.remove();
    }
  };
}

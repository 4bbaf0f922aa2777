// Keeps the page's files, so that it works without a network once it was loaded. Python's follow when they are used.
const worker = self as unknown as {
  addEventListener(type: string, listener: (event: any) => void): void;
  skipWaiting(): Promise<void>;
  clients: { claim(): Promise<void> };
};
const STORE = "portbench-playground"; // an origin such as that of GitHub Pages has other pages, too

worker.addEventListener("install", (event) => {
  const keep = async () => {
    const files = (await (await fetch("files.json")).json()) as string[];
    await (await caches.open(STORE)).addAll(files);
    await worker.skipWaiting();
  };
  event.waitUntil(keep());
});
worker.addEventListener("activate", (event) => event.waitUntil(worker.clients.claim()));
worker.addEventListener("fetch", (event) => {
  if (event.request.method !== "GET" || !event.request.url.startsWith(self.location.origin)) return;
  event.respondWith(
    (async () => {
      const store = await caches.open(STORE);
      // A copy of the answer, kept beside it, would be in memory: Chromium takes 60 MB for Python's files.
      await store.add(event.request).catch(() => undefined);
      return (await store.match(event.request)) ?? (await store.match(event.request, { ignoreSearch: true })) ?? fetch(event.request);
    })(),
  );
});

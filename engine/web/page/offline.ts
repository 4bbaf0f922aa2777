// Keeps the page's files, so that it works without a network once it was loaded.
const worker = self as unknown as { addEventListener(type: string, listener: (event: any) => void): void };
const STORE = "playground";

worker.addEventListener("fetch", (event) => {
  if (event.request.method !== "GET") return;
  event.respondWith(
    (async () => {
      const store = await caches.open(STORE);
      try {
        const answer = await fetch(event.request);
        if (answer.ok) await store.put(event.request, answer.clone());
        return answer;
      } catch (error) {
        const kept = await store.match(event.request);
        if (kept) return kept;
        throw error;
      }
    })(),
  );
});

// Vega measures text on a canvas of a document, which a worker does not have. This file goes before it.
Object.assign(globalThis, { document: { createElement: () => new OffscreenCanvas(1, 1) } });

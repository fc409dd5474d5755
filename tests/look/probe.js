// What a page of JupyterLab is asked; evaluated in it by tests/look/lab.py.
(() => {
  const panel = () => window.jupyterapp.shell.currentWidget;
  const pause = (ms) => new Promise((done) => setTimeout(done, ms));
  const area = (k) => panel().content.widgets[k].outputArea;
  const all = (node, selector) => [...node.querySelectorAll(selector)];
  const RENDERED = ".jp-OutputArea-output, .jp-OutputArea-output *, .jp-MarkdownOutput, .jp-MarkdownOutput *";
  const LEGIBLE = 50; // per cent of the size of a graph at which its letters can be read
  const PAGE = 200; // milliseconds until what is scrolled to is laid out
  const cut = (text) => text.replace(/\s+/g, " ").trim().slice(0, 300);

  async function ready() {
    while (!(panel() && panel().context && panel().sessionContext)) await pause(50);
    await panel().revealed;
    await panel().context.ready;
    await panel().sessionContext.ready;
    while (!(panel().sessionContext.session && panel().sessionContext.session.kernel)) await pause(50);
    await panel().sessionContext.session.kernel.info;
    return panel().content.widgets.length;
  }

  // The same, or an error after so many milliseconds: a notebook that names no kernel waits for ever.
  const opened = (limit) =>
    Promise.race([
      ready(),
      pause(limit).then(() => {
        throw new Error(`not open, or without a kernel, after ${limit} ms`);
      }),
    ]);

  // Formulas that stand there as they were sent: MathJax has not come to them, or refuses them.
  function raw(node) {
    const found = [];
    for (const place of all(node, ".jp-RenderedLatex, .jp-RenderedMarkdown, .jp-RenderedHTML")) {
      const walker = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
      let text = "";
      while (walker.nextNode()) {
        if (!walker.currentNode.parentElement.closest("mjx-container, pre, code, .mathjax_ignore")) {
          text += walker.currentNode.data;
        }
      }
      if (/\$[^$]+\$|\\\(|\\\[|\\begin\{|\\displaystyle/.test(text)) found.push(text);
    }
    return found;
  }

  function pending(node) {
    const waiting = [];
    if (raw(node).length) waiting.push("formulas are not typeset: " + cut(raw(node)[0]));
    for (const graph of all(node, ".jp-RenderedMermaid")) {
      const done = graph.querySelector("img, svg") || graph.classList.contains("jp-mod-warning");
      if (!done) waiting.push("Mermaid draws nothing");
    }
    if (all(node, "img").some((image) => !image.complete)) waiting.push("an image is not loaded");
    if (/Loading widget/.test(node.textContent)) waiting.push("a widget is not loaded");
    return waiting;
  }

  async function settled(node, quiet, limit) {
    const start = performance.now();
    let last = start;
    const observer = new MutationObserver(() => (last = performance.now()));
    observer.observe(node, { subtree: true, childList: true, characterData: true, attributes: true });
    while (performance.now() - start < limit) {
      if (performance.now() - last > quiet && !pending(node).length) break;
      await pause(30);
    }
    observer.disconnect();
  }

  async function run(k, quiet, limit) {
    panel().content.activeCellIndex = k;
    await window.jupyterapp.commands.execute("notebook:run-cell");
    await settled(area(k).node, quiet, limit);
    const outputs = area(k).model.toJSON();
    const node = area(k).node;
    const types = outputs.map((output) => Object.keys(output.data || {}));
    const found = faults(node, outputs);
    if (empty(node)) found.push("the output is empty");
    return { faults: found, types, text: plain(outputs), shown: shown(node) };
  }

  // The cells of a notebook as it was opened: nothing is executed.
  async function cells(quiet, limit) {
    const { node, widgets } = panel().content;
    await settled(node, quiet, limit);
    return widgets.map((cell) => {
      const outputs = cell.outputArea ? cell.outputArea.model.toJSON() : [];
      const shown = cell.outputArea ? cell.outputArea.node : cell.node;
      const found = [...faults(shown, outputs), ...(cell.outputArea ? [] : prose(cell.node))];
      if (outputs.length && empty(shown)) found.push("the output is empty");
      for (const editor of cell.outputArea ? all(cell.node, ".cm-scroller") : []) {
        const over = editor.scrollWidth - editor.clientWidth - 1;
        if (over > 0) found.push(`overflows by ${over} px: the code`);
      }
      return { id: cell.model.id, faults: found };
    });
  }

  // Markup that stands in the text of a Markdown cell, where it has to have become something.
  function prose(cell) {
    const found = [];
    const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const { data, parentElement } = walker.currentNode;
      if (!parentElement.closest(".jp-MarkdownOutput") || parentElement.closest("mjx-container, pre, code")) continue;
      const left = /\\[a-zA-Z({[]|\$|\*\*|`|\]\(|^ *#+ |^ *\|.*\|/.exec(data);
      if (left) found.push("is not rendered: " + cut(data.slice(Math.max(left.index - 20, 0))));
    }
    for (const code of all(cell, "code.language-mermaid")) found.push("Mermaid draws nothing: " + cut(code.textContent));
    return found;
  }

  // Select the first cell, so that no other one has a frame and buttons.
  const leave = () => (panel().content.activeCellIndex = 0);

  // What can be seen of a notebook that is scrolled to a place, and the place of what comes after it, null at the
  // end.  A cell that fits in is not cut.  Code has its height only once it was in sight: each place gives the next.
  async function page(place) {
    const { node, widgets } = panel().content;
    const outer = node.querySelector(".jp-WindowedPanel-outer") || node;
    outer.scrollTop = place;
    await pause(PAGE);
    const { top, left, width, height } = outer.getBoundingClientRect();
    const clip = { x: left, y: top, width, height };
    const over = widgets.map((cell) => cell.node.getBoundingClientRect()).find((box) => box.bottom > top + height);
    if (!over) return { clip, next: null };
    return { clip, next: outer.scrollTop + (over.top - top > 1 ? over.top - top : height) };
  }

  const joined = (value) => (Array.isArray(value) ? value.join("") : value || "");
  const plain = (outputs) =>
    outputs.map((output) => joined(output.text || (output.data || {})["text/plain"])).join("\n");

  // What the lab has chosen of the types that were sent.
  const shown = (node) =>
    all(node, ".jp-OutputArea-output").map((output) => {
      const graph = output.classList.contains("jp-RenderedMermaid");
      return output.dataset.mimeType || (graph ? "text/vnd.mermaid" : "");
    });

  // What MathJax could not read: errors, and commands that it does not know, which are red.
  function misread(node) {
    const errors = all(node, "mjx-merror").map((error) => error.dataset.mjxError || error.textContent);
    const red = all(node, "mjx-container [style*=red], mjx-container [mathcolor=red]");
    const unknown = red.map((text) => text.textContent).filter(Boolean);
    return [...errors, ...unknown.map((text) => "not known: " + text)].map(cut);
  }

  function faults(node, outputs) {
    const found = [];
    for (const output of outputs) {
      if (output.output_type === "error") found.push(`raises ${output.ename}: ${cut(output.evalue)}`);
      const only = Object.keys(output.data || {}).join() === "text/plain";
      if (only && /^<(Figure size .*|.*\bat 0x[0-9a-f]+)>$/.test(joined(output.data["text/plain"]))) {
        found.push("is shown as text only: " + joined(output.data["text/plain"]));
      }
      if (output.name === "stderr") found.push("writes to stderr: " + cut(joined(output.text)));
    }
    const images = outputs.filter((output) => (output.data || {})["image/png"]).length;
    if (images > 1) found.push(`${images} outputs with pictures: shown as result and as figure`);
    for (const message of misread(node)) found.push("MathJax: " + message);
    for (const graph of all(node, ".jp-RenderedMermaid")) {
      const image = graph.querySelector("img");
      const drawn = image ? decodeURIComponent(image.src) : graph.innerHTML;
      const wrong = graph.classList.contains("jp-mod-warning") || /Syntax error in text/.test(drawn);
      if (wrong) found.push("Mermaid: " + cut(graph.textContent || "syntax error"));
      const box = /viewBox="[-\d.]+ [-\d.]+ ([\d.]+)/.exec(drawn);
      const size = image && box ? Math.round((100 * image.clientWidth) / box[1]) : 100;
      if (size < LEGIBLE) found.push(`a graph is drawn at ${size} % of its size: not legible`);
    }
    for (const image of all(node, "img")) {
      if (image.complete && !image.naturalWidth) found.push("a broken image");
      const part = Math.round((100 * image.clientWidth) / image.naturalWidth);
      if (part < LEGIBLE && !image.closest(".jp-RenderedMermaid")) {
        found.push(`a picture is shown at ${part} % of its size: not legible`);
      }
    }
    found.push(...pending(node), ...overflowing(node));
    return found;
  }

  // What would have to be scrolled sideways, or is cut off.
  function overflowing(node) {
    for (const part of all(node, RENDERED)) {
      if (part.closest("mjx-container, svg") && !part.matches("mjx-container")) continue;
      const free = getComputedStyle(part).overflowX === "visible";
      const most = node.getBoundingClientRect().right + 1;
      const over = free ? part.getBoundingClientRect().right - most : part.scrollWidth - part.clientWidth - 1;
      if (over > 0 && part.getBoundingClientRect().width) {
        return [`overflows by ${Math.ceil(over)} px: <${part.localName} class="${part.className}">`];
      }
    }
    return [];
  }

  function empty(node) {
    const outputs = all(node, ".jp-OutputArea-output");
    const pictures = "img, svg, canvas, mjx-container, .jupyter-widgets";
    const blank = outputs.every((o) => !o.textContent.trim() && !all(o, pictures).length);
    return !outputs.length || blank || node.getBoundingClientRect().height < 4;
  }

  // Of many paragraphs in one output, what is wrong with each.
  const paragraphs = (k) =>
    all(area(k).node, "p").map((p) => {
      const left = raw({ querySelectorAll: () => [p] });
      return [...misread(p), ...left.map((text) => "not typeset: " + cut(text))];
    });

  window.look = { opened, run, cells, leave, page, paragraphs };
})();

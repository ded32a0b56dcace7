// Parts of the page that stay while a run goes on, as long as their data stay equal.

/** @type {Map<string, { key: string, part: any }>} */
const kept = new Map();

/**
 * What `make` returned last time for these data, or a new one.
 * @template T
 * @param {string} id
 * @param {unknown} data
 * @param {() => T} make
 * @returns {T}
 */
export function keep(id, data, make) {
  const key = JSON.stringify(data);
  const old = kept.get(id);
  if (old?.key === key) return old.part;
  const part = make();
  kept.set(id, { key, part });
  return part;
}

/**
 * Makes `nodes` the children of `parent`. Nodes that are there already are not touched: they keep
 * their focus, their selection and their scroll position.
 * @param {Element} parent
 * @param {Node[]} nodes
 */
export function place(parent, nodes) {
  const wanted = new Set(nodes);
  for (const child of [...parent.childNodes]) if (!wanted.has(child)) child.remove();
  for (const [i, node] of nodes.entries())
    if (parent.childNodes[i] !== node) parent.insertBefore(node, parent.childNodes[i] ?? null);
}

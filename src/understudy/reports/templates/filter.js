for (const box of document.querySelectorAll("input[data-filters]")) {
  const list = document.getElementById(box.dataset.filters);
  const count = document.getElementById(box.dataset.filters + "-count");
  box.addEventListener("input", () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const item of list.querySelectorAll("[data-name]")) {
      const name = item.dataset.name.toLowerCase();
      item.hidden = !words.every((word) => name.includes(word));
      shown += item.hidden ? 0 : 1;
    }
    if (count) count.textContent = shown + " shown";
  });
}

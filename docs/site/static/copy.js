// A button on each block of code that copies it; of a shell's transcript only the commands.
document.addEventListener("DOMContentLoaded", () => {
  if (!navigator.clipboard) return;
  for (const block of document.querySelectorAll("article div.highlight")) {
    const button = document.createElement("button");
    button.className = "copy";
    button.textContent = "Copy";
    button.type = "button";
    button.addEventListener("click", async () => {
      const text = block.querySelector("pre").textContent;
      const commands = text.split("\n").filter((line) => line.startsWith("$ ")).map((line) => line.slice(2));
      await navigator.clipboard.writeText(commands.length ? commands.join("\n") + "\n" : text);
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
    block.append(button);
  }
});

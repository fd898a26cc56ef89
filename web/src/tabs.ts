// Tabs as ARIA has them: arrows move and select, Home and End go to the ends, one of them is in the order of focus.

export interface Tab { id: string; label: string; panel: HTMLElement }

export class Tabs {
  private readonly buttons = new Map<string, HTMLButtonElement>();
  selected = "";

  constructor(list: HTMLElement, private readonly tabs: Tab[], private readonly onSelect: (id: string) => void) {
    list.setAttribute("role", "tablist");
    for (const tab of tabs) {
      const button = document.createElement("button");
      button.type = "button";
      button.id = `tab-${tab.id}`;
      button.textContent = tab.label;
      button.setAttribute("role", "tab");
      button.setAttribute("aria-controls", tab.panel.id);
      button.addEventListener("click", () => this.select(tab.id));
      button.addEventListener("keydown", (event) => this.key(event, tab.id));
      tab.panel.setAttribute("role", "tabpanel");
      tab.panel.setAttribute("aria-labelledby", button.id);
      this.buttons.set(tab.id, button);
      list.append(button);
    }
  }

  /** Selects a tab; an unknown one is ignored. */
  select(id: string, focus = false): void {
    if (!this.buttons.has(id)) return;
    this.selected = id;
    for (const tab of this.tabs) {
      const button = this.buttons.get(tab.id);
      const isIt = tab.id === id;
      button?.setAttribute("aria-selected", String(isIt));
      if (button) button.tabIndex = isIt ? 0 : -1;
      tab.panel.hidden = !isIt;
    }
    const button = this.buttons.get(id);
    if (focus) button?.focus();
    button?.scrollIntoView({ block: "nearest", inline: "nearest" });
    this.onSelect(id);
  }

  /** Selects the tab at a position. */
  at(position: number): void {
    const tab = this.tabs[position];
    if (tab) this.select(tab.id, true);
  }

  /** A mark behind the name of a tab: how much there is. */
  mark(id: string, text: string, tone: string): void {
    const button = this.buttons.get(id);
    const tab = this.tabs.find((one) => one.id === id);
    if (!button || !tab) return;
    button.textContent = tab.label;
    if (!text) return;
    const mark = document.createElement("span");
    mark.className = `mark ${tone}`;
    mark.textContent = text;
    button.append(" ", mark);
  }

  private key(event: KeyboardEvent, id: string): void {
    const at = this.tabs.findIndex((tab) => tab.id === id);
    const last = this.tabs.length - 1;
    const to = { ArrowRight: at === last ? 0 : at + 1, ArrowLeft: at === 0 ? last : at - 1, Home: 0, End: last }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.at(to);
  }
}

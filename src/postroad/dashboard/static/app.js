// The one module of every page: times, live regions, forms, keys. Without it pages can be read.
import { start as times } from "./times.js";
import { start as forms } from "./forms.js";
import { start as uploads } from "./uploads.js";
import { start as keys } from "./keys.js";
import { start as live } from "./live.js";

// On a phone the menu is one row, and its pages stand beside each other.
document.querySelector("nav [aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });
times();
forms();
uploads();
keys();
live();

// The one module of every page: times, live regions, forms, keys. Without it pages can be read.
import { start as times } from "./times.js";
import { start as forms } from "./forms.js";
import { start as keys } from "./keys.js";
import { start as live } from "./live.js";

times();
forms();
keys();
live();

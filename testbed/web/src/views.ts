// The list of views. A new view is a file in views/ and an entry in VIEWS, which defines its route,
// its link in the navigation and its access level.

import { type ComponentType, lazy } from "react";
import type { SessionUser } from "./data/api.gen";
import { isAtLeast, type Level } from "./data/levels";
import { Configurations } from "./views/configurations";

/** The properties of every view. `id` is the part of the address at ":id", and `onLogOut` ends the
 * session in the page. */
export interface ViewProperties {
  user: SessionUser;
  id: string;
  onLogOut: () => void;
}

export interface View {
  /** Prefix of the address. A view with ":id" has separate state for each id. */
  path: string;
  /** Text of the link in the navigation. Views without a label have no link. */
  label?: string;
  /** The lowest level that may open the view (default: every level). */
  level?: Level;
  component: ComponentType<ViewProperties>;
}

// Only the first view is part of the script that the page loads at its start.
const AccountView = lazy(() => import("./views/account").then((file) => ({ default: file.AccountView })));
const Comparison = lazy(() => import("./views/comparison").then((file) => ({ default: file.Comparison })));
const Courses = lazy(() => import("./views/courses").then((file) => ({ default: file.Courses })));
const Editor = lazy(() => import("./views/editor").then((file) => ({ default: file.Editor })));
const LaboratoryView = lazy(() =>
  import("./views/laboratory").then((file) => ({ default: file.LaboratoryView })),
);
const People = lazy(() => import("./views/people").then((file) => ({ default: file.People })));
const QueueView = lazy(() => import("./views/queue").then((file) => ({ default: file.QueueView })));
const Runs = lazy(() => import("./views/runs").then((file) => ({ default: file.Runs })));
const RunView = lazy(() => import("./views/run").then((file) => ({ default: file.RunView })));
const Studies = lazy(() => import("./views/studies").then((file) => ({ default: file.Studies })));

/** All views, in the order of the navigation. */
export const VIEWS: View[] = [
  { path: "", label: "Configurations", component: Configurations },
  { path: "configuration/:id", component: Editor },
  { path: "runs", label: "Runs", component: Runs },
  { path: "runs/:id", component: RunView },
  { path: "studies", label: "Studies", component: Studies },
  { path: "studies/:id", component: Studies },
  { path: "queue", label: "Queue", component: QueueView },
  { path: "compare", label: "Compare", component: Comparison },
  { path: "courses", label: "Courses", component: Courses },
  { path: "laboratory", label: "Laboratory", component: LaboratoryView },
  { path: "people", label: "People", level: "administrator", component: People },
  { path: "account", component: AccountView },
];

/** The view at an address, and the id in the address; null for an unknown address. Parts after an
 * id, such as a tab, belong to the view. */
export function viewAt(address: string[]): { view: View; id: string } | null {
  const [first = "", id = ""] = address;
  const named = (path: string) => VIEWS.find((one) => one.path === path);
  const view = (id && named(`${first}/:id`)) || named(first);
  if (!view) return null;
  if (view.path.endsWith("/:id")) return { view, id };
  return id ? null : { view, id: "" };
}

/** Returns true if the user's level is high enough for a view. */
export function mayOpen(user: SessionUser, { level }: View): boolean {
  return !level || isAtLeast(user.level, level);
}

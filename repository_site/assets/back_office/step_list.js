/* The steps of a diagram and the changes that a person makes to them. Knows nothing of the page (see steps.js).

   A step has a key, a type, names by culture, the steps before it (each with the label of the flow by culture), and
   roles. `shape` and `element` are null until the step is stored. `lane` is the id of a lane; `container` and `host` are
   the keys of the sub-process around a step and of the activity to which an event is attached. */

"use strict";

{
  const GATEWAYS = new Set(["and", "or", "xor"]);
  const FIELDS = ["type", "element", "names", "before", "roles", "lane", "container", "host"];
  const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

  class StepList {
    constructor(state) {
      this.types = new Map(state.types.map((type) => [type.key, type]));
      this.most = state.most;
      this.made = 0;
      this.take(state.steps);
    }

    /* Start from stored steps; nothing can be undone then. */
    take(stored) {
      this.stored = stored;
      this.steps = structuredClone(stored);
      this.past = [];
      this.future = [];
      this.lastField = null;
    }

    get isChanged() {
      return !same(this.steps, this.stored);
    }

    /* Make a change that can be undone. Changes of one field follow each other while a person types: they are one. */
    change(make, field = null) {
      const before = JSON.stringify(this.steps);
      const result = make();
      if (before === JSON.stringify(this.steps)) return result;
      if (field === null || field !== this.lastField) this.past.push(before);
      this.lastField = field;
      this.future = [];
      return result;
    }

    undo() {
      return this.restore(this.past, this.future);
    }

    redo() {
      return this.restore(this.future, this.past);
    }

    restore(from, to) {
      if (!from.length) return false;
      to.push(JSON.stringify(this.steps));
      // Steps that are the same stay the same objects, so that their rows stay.
      const known = new Map(this.steps.map((step) => [step.key, step]));
      this.steps = JSON.parse(from.pop()).map((step) => (same(step, known.get(step.key)) ? known.get(step.key) : step));
      this.lastField = null;
      return true;
    }

    find(key) {
      return this.steps.find((step) => step.key === key);
    }

    index(step) {
      return this.steps.indexOf(step);
    }

    kind(step) {
      return this.types.get(step.type)?.kind ?? "other";
    }

    isGateway(step) {
      return GATEWAYS.has(this.kind(step));
    }

    /* A gateway with several steps before it joins branches; any other one starts them. */
    isSplit(step) {
      return this.isGateway(step) && step.before.length < 2;
    }

    isEnd(step) {
      return this.kind(step) === "end";
    }

    /* Steps inside a sub-process, and events attached to a step. */
    within(step) {
      return this.steps.filter((each) => each.container === step.key || each.host === step.key);
    }

    after(step) {
      return this.steps.filter((each) => each.before.some((flow) => flow.key === step.key));
    }

    /* How far each step is indented: branches of a gateway stand below it, and the step that joins them beside it. Steps
       inside a sub-process and attached events stand below that. */
    depths() {
      const depth = new Map();
      const splits = new Set(this.steps.filter((step) => this.isSplit(step)).map((step) => step.key));
      for (const step of this.steps) {
        const least = (depth.get(step.host ?? step.container) ?? -1) + 1;
        const earlier = step.before.filter((flow) => depth.has(flow.key)).map((flow) => depth.get(flow.key) + (splits.has(flow.key) ? 1 : 0));
        depth.set(step.key, Math.max(least, earlier.length ? Math.min(...earlier) - (earlier.length > 1 ? 1 : 0) : 0));
      }
      return depth;
    }

    /* Place of the last step that is indented below this one, or of the step itself. */
    blockEnd(step) {
      const depth = this.depths();
      let place = this.index(step);
      while (place + 1 < this.steps.length && depth.get(this.steps[place + 1].key) > depth.get(step.key)) place += 1;
      return place;
    }

    type(...kinds) {
      const types = [...this.types.values()].filter((type) => type.isOffered);
      const fitting = kinds.map((kind) => types.find((type) => type.kind === kind)).find(Boolean);
      return (fitting ?? types.find((type) => type.isOwn) ?? types[0]).key;
    }

    /* A new step, in the lane and the sub-process of another one. */
    create(type, beside = null) {
      this.made += 1;
      const { lane = null, container = null } = beside ?? {};
      return { key: `new-${this.made}`, shape: null, element: null, type, names: {}, before: [], roles: [], lane, container, host: null };
    }

    get isFull() {
      return this.steps.length >= this.most;
    }

    /* Let the steps after one step follow another one instead. */
    hand(from, to) {
      for (const each of this.after(from)) {
        if (each === to) continue;
        const flow = each.before.find((one) => one.key === from.key);
        if (each.before.some((one) => one.key === to.key)) each.before.splice(each.before.indexOf(flow), 1);
        else flow.key = to.key;
      }
    }

    /* A new step after another one: a further branch of a gateway, else between the step and those after it. */
    addAfter(step, type = null) {
      return this.change(() => {
        if (!step) {
          const first = this.create(type ?? (this.steps.length ? this.type("task") : this.type("start", "task")));
          this.steps.push(first);
          return first;
        }
        const added = this.create(type ?? this.type("task"), step);
        const place = this.isSplit(step) || this.within(step).length ? this.blockEnd(step) : this.index(step);
        if (!this.isSplit(step)) this.hand(step, added);
        if (!this.isEnd(step)) added.before = [{ key: step.key, label: {} }];
        this.steps.splice(place + 1, 0, added);
        return added;
      });
    }

    /* A further branch of the gateway in whose branch a step stands. */
    addBranch(step) {
      const depth = this.depths();
      let place = this.index(step);
      while (place >= 0 && !(this.isSplit(this.steps[place]) && depth.get(this.steps[place].key) < depth.get(step.key))) place -= 1;
      const gateway = this.isSplit(step) ? step : this.steps[place];
      return gateway ? this.addAfter(gateway) : null;
    }

    addBefore(step) {
      return this.change(() => {
        const added = this.create(this.type("task"), step);
        added.before = step.before;
        step.before = [{ key: added.key, label: {} }];
        this.steps.splice(this.index(step), 0, added);
        return added;
      });
    }

    /* Two branches behind a new gateway; the steps that came next follow both. */
    split(step) {
      if (this.isEnd(step)) return null;
      return this.change(() => {
        const gateway = this.create(this.type("xor", "or", "and"), step);
        const branches = [this.create(this.type("task"), step), this.create(this.type("task"), step)];
        for (const next of this.after(step)) {
          const flow = next.before.find((one) => one.key === step.key);
          next.before.splice(next.before.indexOf(flow), 1, { ...flow, key: branches[0].key }, { key: branches[1].key, label: {} });
        }
        gateway.before = [{ key: step.key, label: {} }];
        for (const branch of branches) branch.before = [{ key: gateway.key, label: {} }];
        const place = this.within(step).length ? this.blockEnd(step) : this.index(step);
        this.steps.splice(place + 1, 0, gateway, ...branches);
        return branches[0];
      });
    }

    /* Make a step the start of a branch of the step above it, with a gateway in between if there is none. */
    indent(step) {
      const depth = this.depths();
      let place = this.index(step) - 1;
      while (place >= 0 && depth.get(this.steps[place].key) > depth.get(step.key)) place -= 1;
      const above = this.steps[place];
      if (!above || depth.get(above.key) !== depth.get(step.key) || this.isEnd(above) || above.container !== step.container) return false;
      return this.change(() => {
        let gateway = above;
        if (!this.isSplit(above)) {
          gateway = this.create(this.type("xor", "or", "and"), above);
          this.hand(above, gateway);
          gateway.before = [{ key: above.key, label: {} }];
          this.steps.splice(place + 1, 0, gateway);
        }
        const later = step.before.filter((flow) => this.index(this.find(flow.key)) > this.index(step));
        step.before = [{ key: gateway.key, label: {} }, ...later];
        return true;
      });
    }

    /* Make a step the one that follows all branches in which it stands. */
    outdent(step) {
      const depth = this.depths();
      const own = depth.get(step.key);
      if (!own) return false;
      let start = this.index(step) - 1;
      while (start > 0 && depth.get(this.steps[start].key) >= own) start -= 1;
      // Out of a sub-process no flow leads.
      if (!this.isSplit(this.steps[start])) return false;
      return this.change(() => {
        const end = this.index(step);
        const block = this.steps.slice(start + 1, end);
        const tails = block.filter(
          (each) => !this.isEnd(each) && !this.after(each).some((next) => block.includes(next) && block.indexOf(next) > block.indexOf(each)),
        );
        // A gateway with one branch also leads past it.
        const gateway = this.steps[start];
        const starts = this.after(gateway).filter((each) => block.includes(each));
        if (starts.length < 2) tails.push(gateway);
        const flows = tails.map((tail) => step.before.find((flow) => flow.key === tail.key) ?? { key: tail.key, label: {} });
        for (const tail of tails) {
          for (const next of this.after(tail)) {
            if (this.index(next) <= end) continue;
            next.before = next.before.filter((flow) => flow.key !== tail.key);
            if (!next.before.some((flow) => flow.key === step.key)) next.before.push({ key: step.key, label: {} });
          }
        }
        const later = step.before.filter((flow) => this.index(this.find(flow.key)) > end);
        step.before = [...flows, ...later];
        return true;
      });
    }

    /* Remove a step; the steps before it then come before those after it. */
    remove(step) {
      return this.change(() => {
        this.detach(step);
        for (const each of this.within(step)) Object.assign(each, { container: step.container, host: each.host === step.key ? null : each.host });
        const place = this.index(step);
        this.steps.splice(place, 1);
        return this.steps[Math.max(0, place - 1)] ?? null;
      });
    }

    detach(step) {
      for (const next of this.after(step)) {
        if (next === step) continue;
        const flow = next.before.find((one) => one.key === step.key);
        const known = new Set([next.key, ...next.before.map((one) => one.key)]);
        const joined = step.before.filter((one) => !known.has(one.key)).map((one) => ({ key: one.key, label: { ...one.label, ...flow.label } }));
        next.before.splice(next.before.indexOf(flow), 1, ...joined);
      }
      step.before = [];
    }

    /* Move a step to another place of the list. A step with one flow in and at most one out takes part in the flow
       there; of others, and of end events, only the order changes. */
    move(step, place) {
      const end = Math.max(0, Math.min(this.steps.length - 1, place));
      if (end === this.index(step)) return false;
      return this.change(() => {
        const isPlain = step.before.length === 1 && this.after(step).length <= 1 && !this.isEnd(step);
        const rest = this.steps.filter((each) => each !== step);
        const [above, below] = [rest[end - 1], rest[end]];
        if (isPlain && above && !this.isEnd(above)) {
          const branch = below?.before.find((flow) => flow.key === above.key && below.key !== step.key);
          if (!this.isGateway(above)) {
            this.detach(step);
            this.steps = rest;
            this.hand(above, step);
            step.before = [{ key: above.key, label: {} }];
          } else if (branch) {
            // The first step of a branch, with the label of the branch.
            this.detach(step);
            step.before = [{ key: above.key, label: branch.label }];
            below.before = below.before.map((flow) => (flow.key === above.key ? { key: step.key, label: {} } : flow));
          }
          if (step.before[0]?.key === above.key) Object.assign(step, { lane: above.lane, container: above.container });
        }
        this.steps = [...rest.slice(0, end), step, ...rest.slice(end)];
        return true;
      });
    }

    /* Numbers of the steps before one, as a person writes them: "2, 5". */
    numbers(step) {
      return step.before.map((flow) => this.index(this.find(flow.key)) + 1).join(", ");
    }

    /* Return the numbers that are wrong, or set the steps before a step. */
    setBefore(step, text) {
      const words = text.split(/[\s,;]+/).filter(Boolean);
      const found = words.map((word) => (/^\d+$/.test(word) ? this.steps[Number(word) - 1] : undefined));
      const wrong = words.filter((_, place) => !found[place] || found[place] === step);
      if (wrong.length) return wrong;
      this.change(() => {
        const flows = [...new Set(found)].map((each) => step.before.find((flow) => flow.key === each.key) ?? { key: each.key, label: {} });
        step.before = flows;
      });
      return [];
    }

    /* A stored element keeps its type, so a step of another type shows a new element. */
    setType(step, type) {
      this.change(() => {
        const { isOwn, roles } = this.types.get(step.type);
        const stored = this.stored.find((each) => each.shape === step.shape && each.type === type);
        Object.assign(step, { type, element: stored?.element ?? null, roles: this.types.get(type).roles === roles ? step.roles : [] });
        if (!isOwn) step.names = structuredClone(stored?.names ?? {});
      });
    }

    /* Show a stored element, or a new one if there is none. */
    place(step, element, names) {
      this.change(() => Object.assign(step, { element, names, roles: [] }));
    }

    /* A stored element that is not part of this diagram is changed on its own page. */
    isFixed(step) {
      return Boolean(step.element) && !this.types.get(step.type).isOwn;
    }

    /* Take over what another person has stored meanwhile. Own changes stay; return what was found, for the person. */
    merge(state) {
      const theirs = state.steps;
      const notes = [];
      for (const type of state.types) this.types.set(type.key, type);
      const base = new Map(this.stored.map((step) => [step.shape, step]));
      const stored = new Map(theirs.map((step) => [step.shape, step]));
      const kept = [];
      for (const mine of this.steps) {
        const [old, now] = [base.get(mine.shape), stored.get(mine.shape)];
        if (!mine.shape || !old) kept.push(mine);
        else if (!now) {
          const isMine = FIELDS.some((field) => !same(mine[field], old[field]));
          notes.push({ kind: isMine ? "removedByThem" : "removed", step: mine });
          if (isMine) kept.push({ ...mine, shape: null, element: this.isFixed(mine) ? mine.element : null });
        } else {
          const fields = FIELDS.filter((field) => !same(old[field], now[field]));
          const both = fields.filter((field) => !same(mine[field], old[field]) && !same(mine[field], now[field]));
          for (const field of fields) if (!both.includes(field)) mine[field] = structuredClone(now[field]);
          if (fields.length) notes.push({ kind: both.length ? "both" : "changed", step: mine });
          kept.push(mine);
        }
      }
      const left = new Set(this.steps.map((step) => step.shape));
      for (const [shape, old] of base) {
        const now = stored.get(shape);
        if (now && !left.has(shape) && FIELDS.some((field) => !same(old[field], now[field]))) notes.push({ kind: "removedByYou", step: now });
      }
      for (const [place, added] of theirs.entries()) {
        if (base.has(added.shape)) continue;
        const above = theirs[place - 1];
        const at = above ? kept.findIndex((step) => step.shape === above.shape) + 1 : 0;
        kept.splice(at, 0, structuredClone(added));
        notes.push({ kind: "added", step: added });
      }
      const keys = new Set(kept.map((step) => step.key));
      for (const step of kept) {
        step.before = step.before.filter((flow) => keys.has(flow.key));
        for (const field of ["container", "host"]) if (!keys.has(step[field])) step[field] = null;
        if (!state.lanes.includes(step.lane)) step.lane = null;
      }
      this.take(theirs);
      this.steps = kept;
      return notes;
    }

    /* The body of the request that replaces the diagram. */
    request() {
      const base = new Map(this.stored.map((step) => [step.shape, step]));
      const places = new Map(this.steps.map((step, place) => [step.key, place]));
      return { values: this.steps.map((step) => this.item(step, places, base.get(step.shape))) };
    }

    item(step, places, stored) {
      const predecessors = step.before.map((flow) => places.get(flow.key));
      // Without a label, an arrow would keep the one that it has.
      const labels = Object.fromEntries(step.before.map((flow) => [places.get(flow.key), flow.label]));
      const [container, attachedTo] = [step.container, step.host].map((key) => places.get(key) ?? null);
      const shapeInfo = { index: places.get(step.key), predecessors, labels, lane: step.lane, container, attachedTo };
      if (step.shape) shapeInfo.id = step.shape;
      const element = this.element(step, stored);
      return element ? { shapeInfo, element } : { shapeInfo };
    }

    /* Only what has changed, so that nobody overwrites what others have changed elsewhere. */
    element(step, stored) {
      const type = this.types.get(step.type);
      const roles = { [type.roles]: step.roles.map((role) => ({ id: role.id })) };
      if (stored && step.element === stored.element) {
        const element = {};
        if (type.isOwn && !same(step.names, stored.names)) element.attributes = { name: step.names };
        if (type.isOwn && !same(step.roles, stored.roles)) element.related = roles;
        return Object.keys(element).length ? element : null;
      }
      if (step.element) return { type: step.type, id: step.element };
      return { type: step.type, attributes: { name: step.names }, ...(type.roles && step.roles.length ? { related: roles } : {}) };
    }
  }

  window.StepList = StepList;
}

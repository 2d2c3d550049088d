/* The templates of the theme contain expressions (x-show="open && !busy"), which Alpine would compile with
   `new Function`. Our content security policy forbids that (D148), so this script parses and evaluates them: operators,
   calls, assignments, literals, arrow functions, `if`. Names are looked up in Alpine's scopes, then among a few
   functions. It rejects syntax that the theme does not use (`a?.b`, "\n"), so that a new use is noticed. */
(() => {
  "use strict";

  // The only globals that the expressions of the theme use. `app.js`, which loads later, has the functions.
  const GLOBALS = {
    window: { location: window.location },
    Date,
    get localStorage() {
      return window.localStorage;
    },
    theme: (...given) => theme(...given),
    searchForm: () => searchForm(),
    searchDropdown: () => searchDropdown(),
    searchCommand: () => searchCommand(),
    getCurrentTab: () => getCurrentTab(),
    sortRecords: (event) => sortRecords(event),
    moveRecords: (event) => moveRecords(event),
  };
  const TOKEN =
    /\s*(?:(\d+(?:\.\d+)?)|("(?:[^"\\]|\\["'\\])*"|'(?:[^'\\]|\\["'\\])*')|([A-Za-z_$][\w$]*)|(=>|\?\?|===|!==|==|!=|<=|>=|&&|\|\||[-+*/%<>=!?:;,.()[\]{}]))/y;
  const WORDS = new Map([["true", true], ["false", false], ["null", null], ["undefined", undefined]]);
  const BINARY = [
    { "??": (a, b) => a() ?? b() },
    { "||": (a, b) => a() || b() },
    { "&&": (a, b) => a() && b() },
    // As in the templates of the theme.
    { "===": (a, b) => a() === b(), "!==": (a, b) => a() !== b(), "==": (a, b) => a() == b(), "!=": (a, b) => a() != b() },
    { "<": (a, b) => a() < b(), ">": (a, b) => a() > b(), "<=": (a, b) => a() <= b(), ">=": (a, b) => a() >= b() },
    { "+": (a, b) => a() + b(), "-": (a, b) => a() - b() },
    { "*": (a, b) => a() * b(), "/": (a, b) => a() / b(), "%": (a, b) => a() % b() },
  ];

  function tokens(text) {
    const found = [];
    TOKEN.lastIndex = 0;
    while (TOKEN.lastIndex < text.trimEnd().length) {
      const match = TOKEN.exec(text);
      if (!match) throw new SyntaxError("not understood");
      const [, number, string, word, sign] = match;
      if (number) found.push({ value: Number(number) });
      else if (string) found.push({ value: string.slice(1, -1).replace(/\\(.)/g, "$1") });
      else found.push({ word, sign });
    }
    return found;
  }

  /* Every part becomes a function of the scope. Parts that can be assigned to or called also return their place. */
  class Parser {
    constructor(text) {
      this.left = tokens(text);
    }

    is(sign, ahead = 0) {
      return this.left[ahead]?.sign === sign;
    }

    takes(sign) {
      return this.is(sign) && this.left.shift();
    }

    needs(sign) {
      if (!this.takes(sign)) throw new SyntaxError(`${sign} expected`);
    }

    program(end) {
      const steps = [];
      while (this.left.length && !(end && this.is(end))) {
        if (!this.takes(";")) steps.push(this.statement());
      }
      // As in Alpine, the first statement decides about the result.
      return (scope) => steps.map((step) => step(scope))[0];
    }

    statement() {
      if (this.left[0].word !== "if") return this.expression();
      this.left.shift();
      this.needs("(");
      const condition = this.expression();
      this.needs(")");
      const yes = this.block();
      const no = this.left[0]?.word === "else" && this.left.shift() ? this.block() : () => undefined;
      return (scope) => void (condition(scope) ? yes(scope) : no(scope));
    }

    block() {
      if (!this.takes("{")) return this.statement();
      const inner = this.program("}");
      this.needs("}");
      return inner;
    }

    expression() {
      const names = this.parameters();
      if (names) {
        const body = this.expression();
        return (scope) => (...values) => body(scope.within(Object.fromEntries(names.map((name, i) => [name, values[i]]))));
      }
      const target = this.binary(0);
      if (this.takes("=")) {
        if (!target.place) throw new SyntaxError("cannot be assigned to");
        const value = this.expression();
        return (scope) => {
          const [holder, name] = target.place(scope);
          return (holder[name] = value(scope));
        };
      }
      if (!this.takes("?")) return target;
      const yes = this.expression();
      this.needs(":");
      const no = this.expression();
      return (scope) => (target(scope) ? yes(scope) : no(scope));
    }

    /* Parses `value =>` or `(a, b) =>`; consumes nothing if there is neither. */
    parameters() {
      let end = 0;
      if (this.is("(")) while (this.left[end] && !this.is(")", end)) end += 1;
      if (!this.is("=>", end + 1)) return null;
      return this.left.splice(0, end + 2).flatMap((token) => token.word ?? []);
    }

    binary(level) {
      if (level === BINARY.length) return this.unary();
      let one = this.binary(level + 1);
      for (;;) {
        const work = BINARY[level][this.left[0]?.sign];
        if (!work) return one;
        this.left.shift();
        const [first, second] = [one, this.binary(level + 1)];
        one = (scope) => work(() => first(scope), () => second(scope));
      }
    }

    unary() {
      if (this.takes("!")) return ((of) => (scope) => !of(scope))(this.unary());
      if (this.takes("-")) return ((of) => (scope) => -of(scope))(this.unary());
      return this.member();
    }

    member() {
      let of = this.primary();
      for (;;) {
        if (this.is("(")) of = called(of, this.list("(", ")"));
        else if (this.takes(".")) of = held(of, ((name) => () => name)(this.left.shift().word));
        else if (this.takes("[")) {
          of = held(of, this.expression());
          this.needs("]");
        } else return of;
      }
    }

    primary() {
      const token = this.left.shift();
      if (token === undefined) throw new SyntaxError("ends too early");
      if ("value" in token) return () => token.value;
      if (token.word === "new") {
        const kind = named(this.left.shift().word);
        const given = this.list("(", ")");
        return (scope) => new (kind(scope))(...given(scope));
      }
      if (token.word) return WORDS.has(token.word) ? () => WORDS.get(token.word) : named(token.word);
      this.left.unshift(token);
      if (token.sign === "[") return this.list("[", "]");
      if (token.sign === "{") return this.object();
      this.needs("(");
      const inner = this.expression();
      this.needs(")");
      return inner;
    }

    list(start, end) {
      const parts = [];
      this.needs(start);
      while (!this.takes(end)) {
        parts.push(this.expression());
        if (!this.is(end)) this.needs(",");
      }
      return (scope) => parts.map((part) => part(scope));
    }

    object() {
      const parts = [];
      this.needs("{");
      while (!this.takes("}")) {
        const token = this.left.shift();
        const name = token.word ?? token.value;
        parts.push([name, this.takes(":") ? this.expression() : named(name)]);
        if (!this.is("}")) this.needs(",");
      }
      return (scope) => Object.fromEntries(parts.map(([name, part]) => [name, part(scope)]));
    }
  }

  function named(name) {
    const read = (scope) => scope.read(name);
    read.place = (scope) => scope.place(name);
    return read;
  }

  function held(of, name) {
    const read = (scope) => of(scope)[name(scope)];
    read.place = (scope) => [of(scope), name(scope)];
    return read;
  }

  function called(of, given) {
    return (scope) => {
      if (!of.place) return of(scope)(...given(scope));
      const [holder, name] = of.place(scope);
      return holder[name](...given(scope));
    };
  }

  /* Looks up parameters of arrow functions, then Alpine's data of the element, then the globals. */
  class Scope {
    constructor(layers) {
      this.layers = layers;
    }

    within(layer) {
      return new Scope([layer, ...this.layers]);
    }

    place(name) {
      // A new name belongs to the outermost scope, where all expressions find it.
      return [this.holder(name) ?? this.layers.at(-1), name];
    }

    read(name) {
      const holder = this.holder(name);
      if (!holder) throw new ReferenceError(`${name} is not known here`);
      return holder[name];
    }

    holder(name) {
      return this.layers.find((each) => name in each) ?? (Object.hasOwn(GLOBALS, name) ? GLOBALS : undefined);
    }
  }

  const programs = new Map();

  function program(text) {
    if (!programs.has(text)) programs.set(text, new Parser(text).program());
    return programs.get(text);
  }

  /* Alpine calls this for every expression; it returns a function that passes on the value. */
  function evaluator(element, expression) {
    const stack = window.Alpine.closestDataStack(element);
    return (receive = () => {}, { scope = {}, params = [] } = {}) => {
      const merged = window.Alpine.mergeProxies([scope, { $el: element }, ...stack]);
      try {
        let value = typeof expression === "function" ? expression.apply(merged, params) : program(expression)(new Scope([merged]));
        if (typeof value === "function" && params.length) value = value.apply(merged, params);
        receive(value);
      } catch (problem) {
        console.error(`${problem.message} in: ${expression}`, element);
      }
    };
  }

  document.addEventListener("alpine:init", () => window.Alpine.setEvaluator(evaluator));
  window.htmx.config.allowEval = false;
})();

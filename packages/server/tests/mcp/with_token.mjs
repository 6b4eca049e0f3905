// Loaded before the conformance suite, which cannot sign in: adds the token of MCP_TOKEN to each request that it makes.
import { createRequire } from "node:module";

const { Agent, setGlobalDispatcher } = createRequire(process.argv[1])("undici");
const name = "authorization";
const value = `Bearer ${process.env.MCP_TOKEN}`;
setGlobalDispatcher(
  new Agent().compose((dispatch) => (options, handler) => {
    const given = options.headers;
    const headers = Array.isArray(given) ? [...given, name, value] : { ...given, [name]: value };
    return dispatch({ ...options, headers }, handler);
  }),
);

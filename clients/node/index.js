export { AgentVM } from './lib/agentvm.js';
export { Cloche } from './lib/cloche.js';
export { ClocheError } from './lib/errors.js';

// Folders that machines see, as options name them.
import { resolve } from 'node:path';
import { ClocheError } from './errors.js';

const MODES = ['ro', 'rw', 'overlay'];

// {'/place': '/folder/of/this/computer'}, or {path, mode, links, apply}, as the program's options --mount.
export const hostMounts = (mounts = {}) =>
  Object.entries(mounts).map(([place, mount]) => {
    const { path, mode = 'rw', links = false, apply = false } = typeof mount === 'string' ? { path: mount } : (mount ?? {});
    if (!place.startsWith('/') || place.includes(':'))
      throw new ClocheError('InvalidInput', `mounts has the place '${place}'; an absolute path of the machine, without ':', is accepted`);
    if (typeof path !== 'string' || !path || !MODES.includes(mode))
      throw new ClocheError('InvalidInput', `mounts['${place}'] is a folder's path, or {path, mode: 'ro' | 'rw' | 'overlay', links}`);
    if (apply && mode !== 'overlay')
      throw new ClocheError('InvalidInput', `mounts['${place}'] has apply, and is no overlay`);
    return `${resolve(path)}:${place}:${mode}${links ? ':links' : ''}${apply ? ':apply' : ''}`;
  });

// Of a machine of a given Cloche: names of its mounts, or of the policy's.
export const mountsByName = (mounts = {}) =>
  Object.entries(mounts).map(([at, mount]) => (typeof mount === 'string' ? { mount, at } : { ...mount, at }));

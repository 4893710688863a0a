// Where the program `cloche` is, and the machine's image that belongs to it.
import { accessSync, constants, existsSync, realpathSync, statSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import { ClocheError } from './errors.js';

// From the program's folder to its image: in build/, in build/MODE/, installed. And back.
const IMAGES = ['vm', '../vm', '../lib/cloche/vm'];
const PROGRAMS = ['../cloche', '../../../bin/cloche'];
const HOW =
  "'make vm' in Cloche's folder builds one, build/vm. Give that folder as wasmPath, or a link to it " +
  '(ln -s /path/to/cloche/build/vm NAME), or leave wasmPath out for the installed image';

const isProgram = (path) => {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
};

const onPath = () =>
  (process.env.PATH ?? '')
    .split(delimiter)
    .filter(Boolean)
    .map((folder) => join(folder, 'cloche'))
    .find(isProgram);

// The folder of an image: named by itself, by a link, or by a file in it.
const imageFolder = (wasmPath) => {
  let path;
  try {
    path = realpathSync(wasmPath);
  } catch (cause) {
    throw new ClocheError('ImageNotFound', `there is no machine image at '${wasmPath}'; ${HOW}`, { cause });
  }
  const folder = statSync(path).isDirectory() ? path : dirname(path);
  if (!existsSync(join(folder, 'Image')) || !existsSync(join(folder, 'root.erofs')))
    throw new ClocheError('ImageNotFound', `'${wasmPath}' is not a machine image of Cloche; ${HOW}`);
  return folder;
};

const imagesOf = (program) =>
  IMAGES.map((place) => resolve(dirname(realpathSync(program)), place))
    .filter(existsSync)
    .map((folder) => realpathSync(folder));

// `wasmPath` names an image; an image belongs to the installation that it was built in.
export const locateProgram = ({ program, wasmPath } = {}) => {
  const folder = wasmPath === undefined ? undefined : imageFolder(wasmPath);
  const given = program ?? process.env.CLOCHE_BIN;
  if (given !== undefined && !isProgram(given))
    throw new ClocheError('ProgramNotFound', `'${given}' is not a program that can be run`);
  const found = given ?? PROGRAMS.map((place) => resolve(folder ?? '/', place)).find((path) => folder && isProgram(path)) ?? onPath();
  if (!found)
    throw new ClocheError(
      'ProgramNotFound',
      "the program 'cloche' is not in PATH; give its path as 'program', or in the variable CLOCHE_BIN",
    );
  if (folder && !imagesOf(found).includes(folder))
    throw new ClocheError(
      'ImageNotFound',
      `the image '${wasmPath}' belongs to another installation than ${found}; give the program of the same installation, or leave one of the two out`,
    );
  return resolve(found);
};

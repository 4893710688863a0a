package tui

import (
	"errors"
	"os"
)

var errNoTerminal = errors.New("there is no terminal here: use --filter")

func IsLightRendererSupported() bool { return false }

func (r *LightRenderer) DefaultTheme() *ColorTheme { return Default16 }

func (r *LightRenderer) fd() int { return -1 }

func (r *LightRenderer) initPlatform() error { return errNoTerminal }

func (r *LightRenderer) closePlatform() {}

func (r *LightRenderer) setupTerminal() {}

func (r *LightRenderer) restoreTerminal() {}

func (r *LightRenderer) updateTerminalSize() {}

func (r *LightRenderer) findOffset() (row int, col int) { return -1, -1 }

func (r *LightRenderer) getch(nonblock bool) (int, bool) { return 0, false }

func (r *LightRenderer) Size() TermSize { return TermSize{} }

func TtyIn(string) (*os.File, error) { return nil, errNoTerminal }

func TtyOut(string) (*os.File, error) { return nil, errNoTerminal }

func openTtyIn(string) (*os.File, error) { return nil, errNoTerminal }

func openTtyOut(string) (*os.File, error) { return nil, errNoTerminal }

# Run once, when the image is made: exiftool's program becomes a function, and the modules
# that most calls need are loaded. `$main::program` is where Debian's exiftool lies.
package main;
use strict;
use warnings;

BEGIN {
    unshift @INC, '/lib';
    # The program ends in the middle of functions, often.
    *CORE::GLOBAL::exit = sub { die bless { code => @_ ? shift : 0 }, 'Cloche::Exit' };
}

my $text = do {
    local $/;
    open my $in, '<', '/program' or die "/program: $!";
    <$in>;
};
$text =~ s/^__END__.*//ms;
$text =~ s/^\$SIG\{(INT|CONT)\}.*//mg; # there are no signals

{
    no warnings;
    local @ARGV;
    local $0 = '/program';
    eval "package main; no warnings 'closure'; sub run_program { $text }\n1" or die $@;
}

require POSIX; # ours
for my $module (qw(Exif XMP IPTC JPEG Photoshop ICC_Profile PNG PDF GPS QuickTime ID3 Jpeg2000
                   MakerNotes TagLookup Writer BuildTagLookup Composite)) {
    eval { require "Image/ExifTool/$module.pm" };
}

package Cloche;

# One call: the working directory, the variables' count, the variables, the arguments.
sub start {
    my ($count, @rest) = @_;
    %ENV = map { split /=/, $_, 2 } splice @rest, 0, $count;
    chdir $ENV{PWD} if defined $ENV{PWD};
    @ARGV = @rest;
    $0 = 'exiftool';
    my $code = 0;
    # What was a program's `shift` is a function's now: @_ is @ARGV.
    local *_ = \@ARGV;
    unless (eval { &main::run_program; 1 }) {
        my $why = $@;
        if (ref $why eq 'Cloche::Exit') { $code = $why->{code} }
        else { print STDERR $why; $code = 255 }
    }
    { no warnings; close STDOUT; close STDERR }
    CORE::exit($code);
}
1;

# What exiftool takes of POSIX, which npm's perl has not: dates, and rounding.
package POSIX;
use strict;
use warnings;
use Time::Local ();
use Time::Piece ();

# The fields as given, in no zone: as the C library does where nothing is out of range.
sub strftime {
    my ($format, $s, $m, $h, $day, $month, $year) = @_;
    my $at = eval { Time::Local::timegm($s, $m, $h, $day, $month, $year + 1900) };
    return $format unless defined $at;
    return Time::Piece::gmtime($at)->strftime($format);
}
sub mktime { return eval { Time::Local::timelocal(@_[0 .. 4], $_[5] + 1900) } }
sub floor { my $i = int $_[0]; return $i > $_[0] ? $i - 1 : $i }
sub ceil { my $i = int $_[0]; return $i < $_[0] ? $i + 1 : $i }
sub setlocale { return }
1;

// qpdf's source of random bytes: WASI's, instead of a device file.
#include <qpdf/SecureRandomDataProvider.hh>

#include <algorithm>
#include <stdexcept>
#include <unistd.h>

void
SecureRandomDataProvider::provideRandomData(unsigned char* data, size_t len)
{
    for (size_t done = 0; done < len;) {
        size_t n = std::min(len - done, static_cast<size_t>(256)); // what one call gives
        if (getentropy(data + done, n) != 0) {
            throw std::runtime_error("there are no random bytes");
        }
        done += n;
    }
}

RandomDataProvider*
SecureRandomDataProvider::getInstance()
{
    static SecureRandomDataProvider instance;
    return &instance;
}

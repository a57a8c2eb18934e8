// One delivery a line: method, endpoint, header, body and time; a line with 1 or 0 for each.
using System.Text;

while (Console.ReadLine() is { } line)
{
    var parts = line.Split('\t');
    var header = Encoding.UTF8.GetString(Convert.FromBase64String(parts[2]));
    var genuine = Signatures.IsGenuine(
        parts[0], parts[1], args[0], header, Convert.FromBase64String(parts[3]), long.Parse(parts[4]));
    Console.WriteLine(genuine ? 1 : 0);
}
